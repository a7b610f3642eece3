import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Vendor } from "../providers/Vendor.ts"
import * as Composed from "../providers/Composed.ts"
import * as Settings from "../Settings.ts"
import { costOptions } from "./costOptions.ts"

/** Puts cache, queue, timeout, retries and circuit breaker around a vendor, as the settings say. */
export const decorated = <E, R>(vendor: Layer.Layer<Vendor, E, R>) =>
  Effect.map(Settings.Settings, (settings) =>
    Composed.decorated(vendor, {
      timeout: settings.providerTimeout,
      concurrency: settings.providerConcurrency,
      unknownTtl: settings.cacheUnknownTtl,
      costs: (provider) => costOptions(settings, provider),
      cache: {
        ttl: settings.cacheTtl,
        capacity: settings.cacheCapacity,
        minAge: settings.cacheMinAge,
        staleIfError: settings.cacheStaleIfError,
        history: settings.history,
      },
    }),
  ).pipe(Layer.unwrapEffect)
