/** Applies the settings to a vendor: its decorators, and what its calls cost. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Counted from "../providers/costs/Counted.ts"
import type { Vendor } from "../providers/Vendor.ts"
import * as Composed from "../providers/Composed.ts"
import * as Settings from "../Settings.ts"

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

/** Maps each vendor that bills calls to the prefix of its settings, such as `mozPrice`. */
const vendors = {
  moz: "moz",
  "moz-links-v2": "mozLinksV2",
  "open-page-rank": "openPageRank",
  dataforseo: "dataforseo",
  http: "http",
} as const satisfies Record<Exclude<Settings.ProviderName, "sandbox" | "dataset">, string>

const isVendor = (provider: string): provider is keyof typeof vendors => provider in vendors

/** The settings on what a vendor's calls cost. */
export const costOptions = (
  settings: Settings.Settings["Type"],
  provider: string,
): Counted.Options => {
  if (!isVendor(provider)) return {}
  const vendor = vendors[provider]
  const rows = settings[`${vendor}Ceiling`]
  const setting = Settings.all[`${vendor}Ceiling`].about.name
  return {
    price: settings[`${vendor}Price`],
    ceiling: rows === undefined ? undefined : { rows, setting },
  }
}
