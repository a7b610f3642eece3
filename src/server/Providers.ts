/** Builds the configured provider, loading no modules of other providers. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { MetricsCache } from "../providers/figures/MetricsCache.ts"
import type { MetricsProvider } from "../providers/MetricsProvider.ts"
import type { Costs } from "../providers/costs/Costs.ts"
import { type Adapter, type ProviderNotConfigured, Vendor } from "../providers/Vendor.ts"
import * as Settings from "../Settings.ts"
import * as Stores from "./Stores.ts"
import type { NoDatabase } from "../database/Presence.ts"
import type { StoreFailure } from "../database/StoreFailure.ts"

export type VendorName = Exclude<Settings.ProviderName, "sandbox" | "dataset">

/** The modules of the vendors. Every vendor of the settings must be here. */
const vendors: Readonly<Record<VendorName, () => Promise<{ readonly adapter: Adapter }>>> = {
  moz: () => import("../providers/vendors/Moz.ts"),
  "moz-links-v2": () => import("../providers/vendors/MozLinksV2.ts"),
  "open-page-rank": () => import("../providers/vendors/OpenPageRank.ts"),
  dataforseo: () => import("../providers/vendors/DataForSeo.ts"),
  http: () => import("../providers/vendors/Http.ts"),
}

export const adapterOf = (name: VendorName) => Effect.promise(vendors[name])

// The layer of a provider. It can use the database, and fails when a setting is missing.
type ProviderLayer = Layer.Layer<
  MetricsProvider,
  ProviderNotConfigured,
  Settings.Settings | SqlClient | MetricsCache | Costs
>

/**
 * Builds the providers that AUTHORITY_PROVIDER names; several become a fallback chain. Each
 * provider that calls an API gets the queue and the cache.
 */
export const layer = Effect.gen(function* () {
  const [first, ...others] = (yield* Settings.Settings).providers
  if (others.length === 0) return named(first)
  const Composed = yield* composed
  return Composed.chain([named(first), ...others.map(named)])
}).pipe(Layer.unwrapEffect)

const named = (name: Settings.ProviderName): ProviderLayer => {
  switch (name) {
    case "sandbox":
      return Stores.imported(() => import("../providers/vendors/Sandbox.ts"))
    // The dataset is local. Without a cache, an imported list takes effect at once.
    case "dataset":
      return Effect.map(composed, ({ undecorated }) =>
        undecorated(Layer.provide(dataset, Stores.rankings)),
      ).pipe(Layer.unwrapEffect)
    default:
      return Effect.gen(function* () {
        const { decorated } = yield* Effect.promise(() => import("./decorated.ts"))
        return decorated(vendor(name))
      }).pipe(Layer.unwrapEffect)
  }
}

/**
 * Builds a vendor without the queue and the cache, for commands, whose every call asks the vendor.
 */
export const undecorated = (
  name: VendorName | "dataset",
): Layer.Layer<Vendor, ProviderNotConfigured | NoDatabase | StoreFailure, Settings.Settings> =>
  name === "dataset" ? Layer.provide(dataset, Stores.forCommands) : vendor(name)

/** Like `undecorated`, but counts the calls if the database can be used. */
export const recorded = (name: VendorName | "dataset") =>
  Effect.gen(function* () {
    const Counted = yield* Effect.promise(() => import("../providers/costs/Counted.ts"))
    const { costOptions } = yield* Effect.promise(() => import("./decorated.ts"))
    const inner = yield* Vendor
    const counted = Counted.make(inner, costOptions(yield* Settings.Settings, name))
    const stores = yield* Effect.option(Layer.build(Stores.costsForVerbs))
    return Option.isSome(stores) ? yield* Effect.provide(counted, stores.value) : inner
  }).pipe(Layer.scoped(Vendor), Layer.provide(undecorated(name)))

const composed = Effect.promise(() => import("../providers/Composed.ts"))

const dataset = Stores.imported(() => import("../providers/dataset/Dataset.ts"))

const vendor = (name: VendorName) =>
  Effect.gen(function* () {
    const { adapter } = yield* adapterOf(name)
    return yield* adapter.fromSettings(yield* Settings.Settings)
  }).pipe(Layer.unwrapEffect)
