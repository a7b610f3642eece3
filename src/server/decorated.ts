import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MetricsProvider } from "../MetricsProvider.ts"
import * as Composed from "../providers/Composed.ts"
import type * as Purchased from "../providers/Purchased.ts"
import * as Settings from "../Settings.ts"

/** Puts cache, queue, timeout, retries and circuit breaker around a vendor, as the settings say. */
export const decorated = <E, R>(vendor: Layer.Layer<MetricsProvider, E, R>) =>
  Effect.map(Settings.Settings, (settings) =>
    Composed.decorated(vendor, {
      timeout: settings.providerTimeout,
      concurrency: settings.providerConcurrency,
      unknownTtl: settings.cacheUnknownTtl,
      purchases: (provider) => purchasesOf(settings, provider),
      cache: {
        ttl: settings.cacheTtl,
        capacity: settings.cacheCapacity,
        minAge: settings.cacheMinAge,
        staleIfError: settings.cacheStaleIfError,
        history: settings.history,
      },
    }),
  ).pipe(Layer.unwrapEffect)

/** The vendors that cost something, and how the names of their settings begin. */
const vendors = {
  moz: "moz",
  "moz-links-v2": "mozLinksV2",
  "open-page-rank": "openPageRank",
  dataforseo: "dataforseo",
  http: "http",
} as const

const isVendor = (provider: string): provider is keyof typeof vendors => provider in vendors

const purchasesOf = (settings: Settings.Settings["Type"], provider: string): Purchased.Options => {
  const kept = settings.purchasesKept
  if (!isVendor(provider)) return { kept }
  const vendor = vendors[provider]
  const rows = settings[`${vendor}Ceiling`]
  const setting = Settings.all[`${vendor}Ceiling`].about.name
  return {
    kept,
    price: settings[`${vendor}Price`],
    ceiling: rows === undefined ? undefined : { rows, setting },
  }
}
