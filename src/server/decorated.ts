import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MetricsProvider } from "../MetricsProvider.ts"
import * as Composed from "../providers/Composed.ts"
import * as Settings from "../Settings.ts"
import { purchaseOptions } from "./purchaseOptions.ts"

/** Puts cache, queue, timeout, retries and circuit breaker around a vendor, as the settings say. */
export const decorated = <E, R>(vendor: Layer.Layer<MetricsProvider, E, R>) =>
  Effect.map(Settings.Settings, (settings) =>
    Composed.decorated(vendor, {
      timeout: settings.providerTimeout,
      concurrency: settings.providerConcurrency,
      unknownTtl: settings.cacheUnknownTtl,
      purchases: (provider) => purchaseOptions(settings, provider),
      cache: {
        ttl: settings.cacheTtl,
        capacity: settings.cacheCapacity,
        minAge: settings.cacheMinAge,
        staleIfError: settings.cacheStaleIfError,
        history: settings.history,
      },
    }),
  ).pipe(Layer.unwrapEffect)
