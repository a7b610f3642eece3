/** Builds the provider that the settings name. Modules of other providers are not loaded. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MetricsProvider } from "../MetricsProvider.ts"
import { type ProviderName, Settings } from "../Settings.ts"
import * as Stores from "./Stores.ts"

/** A setting that the chosen provider needs is missing. `message` names the setting. */
export class ProviderNotConfigured extends Data.TaggedError("ProviderNotConfigured")<{
  readonly message: string
}> {}

/** The layer of a provider. The layer may use the database. It fails when a setting is missing. */
type ProviderLayer = Layer.Layer<MetricsProvider, ProviderNotConfigured, Settings | SqlClient>

/**
 * Builds the chain of providers from the settings. Each vendor gets its decorators, such as a
 * cache.
 */
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

/** Builds one provider with its decorators, without the fallback chain. */
export const named = (name: ProviderName) =>
  Effect.map(Settings, (settings) => provider(settings, name)).pipe(Layer.unwrapEffect)

const provider = (settings: Settings["Type"], name: ProviderName): ProviderLayer => {
  switch (name) {
    // The sandbox and the dataset are local, so they get no decorators such as a cache. Without a
    // cache, an imported list takes effect at once.
    case "sandbox":
      return loaded(async () => (await import("../providers/Sandbox.ts")).layer)
    case "dataset":
      return loaded(async () => {
        const Dataset = await import("../providers/Dataset.ts")
        return Layer.provide(Dataset.layer, Stores.rankings)
      })
    default:
      return loaded(async () => {
        const { decorated } = await import("../server/decorated.ts")
        const SqlMetricsCache = await import("../sql/MetricsCache.ts")
        return decorated(vendor(settings, name)).pipe(Layer.provide(SqlMetricsCache.layer))
      })
  }
}

const loaded = <A, E, R>(load: () => Promise<Layer.Layer<A, E, R>>) => loadedWith(Effect.void, load)

/** Loads a provider's module, but only when the settings that the provider needs are present. */
const loadedWith = <Given, E1, A, E, R>(
  settings: Effect.Effect<Given, E1>,
  load: (given: Given) => Promise<Layer.Layer<A, E, R>>,
): Layer.Layer<A, E | E1, R> =>
  Layer.unwrapEffect(Effect.flatMap(settings, (given) => Effect.promise(() => load(given))))

/** Builds a vendor without decorators. */
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
    case "http":
      return loadedWith(
        Effect.all({
          url: required("AUTHORITY_HTTP_URL", settings.httpUrl),
          token: required("AUTHORITY_HTTP_TOKEN", settings.httpToken),
        }),
        async (options) => {
          const Http = await import("../providers/Http.ts")
          return Http.layer(options)
        },
      )
  }
}

/** Fails with ProviderNotConfigured when the provider's setting is not set. */
const required = <A>(name: string, value: A | undefined) =>
  value === undefined
    ? new ProviderNotConfigured({
        message: `${name} is not set, but the provider needs it; set it, or choose another AUTHORITY_PROVIDER`,
      })
    : Effect.succeed(value)
