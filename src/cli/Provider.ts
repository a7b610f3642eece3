/** The provider that the settings name, on the database; of the others nothing is loaded. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MetricsProvider } from "../MetricsProvider.ts"
import { type ProviderName, Settings } from "../Settings.ts"
import * as Stores from "./Stores.ts"

/** A provider was chosen and what it needs was not given. */
export class ProviderNotConfigured extends Data.TaggedError("ProviderNotConfigured")<{
  readonly message: string
}> {}

/** What a provider may use, and why there may be none. */
type Provider = Layer.Layer<MetricsProvider, ProviderNotConfigured, SqlClient>

/** The chain of providers, each with the decorators that become it. */
export const layer = Effect.flatMap(Settings, (settings) => {
  const [first, ...others] = settings.providers
  if (others.length === 0) return Effect.succeed(provider(settings, first))
  return Effect.promise(async () => {
    const Composed = await import("../providers/Composed.ts")
    return Composed.chain([
      provider(settings, first),
      ...others.map((name) => provider(settings, name)),
    ])
  })
}).pipe(Layer.unwrapEffect)

/** One of them by itself. */
export const named = (name: ProviderName) =>
  Effect.map(Settings, (settings) => provider(settings, name)).pipe(Layer.unwrapEffect)

const provider = (settings: Settings["Type"], name: ProviderName): Provider => {
  switch (name) {
    // Nothing is kept of these two: they are at hand, and what they say counts at once.
    case "sandbox":
      return loaded(async () => (await import("../providers/Sandbox.ts")).layer)
    case "dataset":
      return loaded(async () => {
        const Dataset = await import("../providers/Dataset.ts")
        return Layer.provide(Dataset.layer, Stores.rankings)
      })
    default:
      return loaded(async () => {
        const Composed = await import("../providers/Composed.ts")
        const SqlMetricsCache = await import("../sql/MetricsCache.ts")
        return Composed.decorated(vendor(settings, name), {
          timeout: settings.providerTimeout,
          concurrency: settings.providerConcurrency,
          cache: { ttl: settings.cacheTtl, capacity: settings.cacheCapacity },
        }).pipe(Layer.provide(SqlMetricsCache.layer))
      })
  }
}

const loaded = <A, E, R>(load: () => Promise<Layer.Layer<A, E, R>>) => loadedWith(Effect.void, load)

/** Nothing is loaded before it is known that its settings are there. */
const loadedWith = <Given, E1, A, E, R>(
  settings: Effect.Effect<Given, E1>,
  load: (given: Given) => Promise<Layer.Layer<A, E, R>>,
): Layer.Layer<A, E | E1, R> =>
  Layer.unwrapEffect(Effect.flatMap(settings, (given) => Effect.promise(() => load(given))))

/** A vendor as it is, without decorators. */
const vendor = (
  settings: Settings["Type"],
  name: Exclude<ProviderName, "sandbox" | "dataset">,
): Layer.Layer<MetricsProvider, ProviderNotConfigured> => {
  switch (name) {
    case "moz":
      return loadedWith(required("AUTHORITY_MOZ_TOKEN", settings.mozToken), async (token) => {
        const Moz = await import("../providers/Moz.ts")
        return Moz.layer({ url: settings.mozUrl, token })
      })
    case "moz-links-v2":
      return loadedWith(
        required("AUTHORITY_MOZ_LINKS_V2_TOKEN", settings.mozLinksV2Token),
        async (token) => {
          const MozLinksV2 = await import("../providers/MozLinksV2.ts")
          return MozLinksV2.layer({ url: settings.mozLinksV2Url, token })
        },
      )
    case "open-page-rank":
      return loadedWith(
        required("AUTHORITY_OPEN_PAGE_RANK_KEY", settings.openPageRankKey),
        async (key) => {
          const OpenPageRank = await import("../providers/OpenPageRank.ts")
          return OpenPageRank.layer({ url: settings.openPageRankUrl, key })
        },
      )
    case "dataforseo":
      return loadedWith(
        Effect.all({
          login: required("AUTHORITY_DATAFORSEO_LOGIN", settings.dataforseoLogin),
          password: required("AUTHORITY_DATAFORSEO_PASSWORD", settings.dataforseoPassword),
        }),
        async (credentials) => {
          const DataForSeo = await import("../providers/DataForSeo.ts")
          return DataForSeo.layer({ url: settings.dataforseoUrl, ...credentials })
        },
      )
  }
}

/** A setting that only some providers need. */
const required = <A>(name: string, value: A | undefined) =>
  value === undefined
    ? new ProviderNotConfigured({ message: `${name} is not set, and the provider needs it` })
    : Effect.succeed(value)
