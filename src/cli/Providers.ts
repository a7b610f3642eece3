/** Builds the provider that the settings name. Does not load the modules of other providers. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { MetricsCache } from "../MetricsCache.ts"
import { MetricsProvider } from "../MetricsProvider.ts"
import type { Purchases } from "../Purchases.ts"
import * as Settings from "../Settings.ts"
import * as Stores from "../server/Stores.ts"
import type { NoDatabase } from "../sql/Presence.ts"
import type { StoreFailure } from "../StoreFailure.ts"

/** A setting that the chosen provider needs is missing. `message` names the setting. */
export class ProviderNotConfigured extends Data.TaggedError("ProviderNotConfigured")<{
  readonly message: string
}> {}

// The layer of a provider. The layer has access to the database, and fails when a setting is
// missing.
type ProviderLayer = Layer.Layer<
  MetricsProvider,
  ProviderNotConfigured,
  Settings.Settings | SqlClient | MetricsCache | Purchases
>

/**
 * Builds the providers that AUTHORITY_PROVIDER names: several providers become a fallback chain.
 * Each provider that calls an API gets decorators, such as a cache.
 */
export const layer = Effect.gen(function* () {
  const [first, ...others] = (yield* Settings.Settings).providers
  if (others.length === 0) return named(first)
  const Composed = yield* Effect.promise(() => import("../providers/Composed.ts"))
  return Composed.chain([named(first), ...others.map(named)])
}).pipe(Layer.unwrapEffect)

/** Builds one provider with its decorators, without the fallback chain. */
const named = (name: Settings.ProviderName): ProviderLayer => {
  switch (name) {
    // The sandbox and the dataset are local, so they get no decorators such as a cache. Without a
    // cache, an imported list takes effect at once.
    case "sandbox":
      return sandbox
    case "dataset":
      return Layer.provide(dataset, Stores.rankings)
    default:
      return Effect.gen(function* () {
        const { decorated } = yield* Effect.promise(() => import("../server/decorated.ts"))
        return decorated(yield* vendor(name))
      }).pipe(Layer.unwrapEffect)
  }
}

/** Builds one provider without decorators: every lookup asks the vendor. */
export const undecorated = (
  name: Settings.ProviderName,
): Layer.Layer<
  MetricsProvider,
  ProviderNotConfigured | NoDatabase | StoreFailure,
  Settings.Settings
> => {
  switch (name) {
    case "sandbox":
      return sandbox
    case "dataset":
      return Layer.provide(dataset, Stores.forVerbs)
    default:
      return Layer.unwrapEffect(vendor(name))
  }
}

/** Like `undecorated`, and records the calls if the database can be used. */
export const recorded = (name: Settings.ProviderName) =>
  Effect.gen(function* () {
    const Purchased = yield* Effect.promise(() => import("../providers/Purchased.ts"))
    const { purchaseOptions } = yield* Effect.promise(() => import("../server/purchaseOptions.ts"))
    const options = purchaseOptions(yield* Settings.Settings, name)
    const provider = yield* MetricsProvider
    const stores = yield* Effect.option(Layer.build(Stores.purchasesForVerbs))
    return yield* Option.isNone(stores)
      ? Effect.succeed(provider)
      : Effect.provide(Purchased.make(provider, options), stores.value)
  }).pipe(Layer.scoped(MetricsProvider), Layer.provide(undecorated(name)))

const sandbox = Stores.imported(() => import("../providers/Sandbox.ts"))

const dataset = Stores.imported(() => import("../providers/Dataset.ts"))

// Builds the provider of a vendor without the decorators: cache, queue, timeout, retries and
// circuit breaker. Loads the vendor's module only when all settings that the vendor needs are
// present.
const vendor = (name: Exclude<Settings.ProviderName, "sandbox" | "dataset">) =>
  Effect.gen(function* () {
    const settings = yield* Settings.Settings
    switch (name) {
      case "moz": {
        const token = yield* required(settings, "mozToken")
        const Moz = yield* Effect.promise(() => import("../providers/Moz.ts"))
        return Moz.layer({ url: settings.mozUrl, token })
      }
      case "moz-links-v2": {
        const token = yield* required(settings, "mozLinksV2Token")
        const MozLinksV2 = yield* Effect.promise(() => import("../providers/MozLinksV2.ts"))
        return MozLinksV2.layer({ url: settings.mozLinksV2Url, token })
      }
      case "open-page-rank": {
        const key = yield* required(settings, "openPageRankKey")
        const OpenPageRank = yield* Effect.promise(() => import("../providers/OpenPageRank.ts"))
        return OpenPageRank.layer({ url: settings.openPageRankUrl, key })
      }
      case "dataforseo": {
        const login = yield* required(settings, "dataforseoLogin")
        const password = yield* required(settings, "dataforseoPassword")
        const DataForSeo = yield* Effect.promise(() => import("../providers/DataForSeo.ts"))
        return DataForSeo.layer({ url: settings.dataforseoUrl, login, password })
      }
      case "http": {
        const url = yield* required(settings, "httpUrl")
        const token = yield* required(settings, "httpToken")
        const Http = yield* Effect.promise(() => import("../providers/Http.ts"))
        return Http.layer({ url, token })
      }
    }
  })

const required = <Key extends keyof Settings.Settings["Type"]>(
  settings: Settings.Settings["Type"],
  key: Key,
) => {
  const value = settings[key]
  return value === undefined
    ? new ProviderNotConfigured({
        message: `${Settings.all[key].about.name} is not set, but the provider needs it; set it, or choose another AUTHORITY_PROVIDER`,
      })
    : Effect.succeed(value)
}
