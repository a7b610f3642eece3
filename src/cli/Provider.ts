/** The provider that the settings name. */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MetricsCache } from "../MetricsCache.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import * as Composed from "../providers/Composed.ts"
import * as DataForSeo from "../providers/DataForSeo.ts"
import * as Dataset from "../providers/Dataset.ts"
import * as Moz from "../providers/Moz.ts"
import * as MozLinksV2 from "../providers/MozLinksV2.ts"
import * as OpenPageRank from "../providers/OpenPageRank.ts"
import * as Sandbox from "../providers/Sandbox.ts"
import type { Rankings } from "../Rankings.ts"
import * as Wire from "../providers/Wire.ts"
import { type ProviderName, Settings } from "../Settings.ts"

/** A provider was chosen and what it needs was not given. */
export class ProviderNotConfigured extends Data.TaggedError("ProviderNotConfigured")<{
  readonly message: string
}> {}

/** The chain of providers, each with the decorators that become it. */
export const layer = Effect.gen(function* () {
  const settings = yield* Settings
  const [first, ...others] = settings.providers
  return Composed.chain([
    provider(settings, first),
    ...others.map((name) => provider(settings, name)),
  ])
}).pipe(Layer.unwrapEffect, Layer.provide(Wire.client))

/** One of them by itself. */
export const named = (name: ProviderName) =>
  Effect.map(Settings, (settings) => provider(settings, name)).pipe(
    Layer.unwrapEffect,
    Layer.provide(Wire.client),
  )

const provider = (
  settings: Settings["Type"],
  name: ProviderName,
): Layer.Layer<
  MetricsProvider,
  ProviderNotConfigured,
  HttpClient.HttpClient | MetricsCache | Rankings
> => {
  const options = {
    timeout: settings.providerTimeout,
    concurrency: settings.providerConcurrency,
    cache: { ttl: settings.cacheTtl, capacity: settings.cacheCapacity },
  }
  switch (name) {
    // Nothing is kept of these two: they are at hand, and what they say counts at once.
    case "sandbox":
      return Sandbox.layer
    case "dataset":
      return Dataset.layer
    default:
      return Composed.bought(vendor(settings, name), options)
  }
}

/** A vendor as it is, without decorators. */
export const vendor = (
  settings: Settings["Type"],
  name: Exclude<ProviderName, "sandbox" | "dataset">,
): Layer.Layer<MetricsProvider, ProviderNotConfigured, HttpClient.HttpClient> => {
  switch (name) {
    case "moz":
      return Effect.map(required("AUTHORITY_MOZ_TOKEN", settings.mozToken), (token) =>
        Moz.layer({ url: settings.mozUrl, token }),
      ).pipe(Layer.unwrapEffect)
    case "moz-links-v2":
      return Effect.map(
        required("AUTHORITY_MOZ_LINKS_V2_TOKEN", settings.mozLinksV2Token),
        (token) => MozLinksV2.layer({ url: settings.mozLinksV2Url, token }),
      ).pipe(Layer.unwrapEffect)
    case "open-page-rank":
      return Effect.map(required("AUTHORITY_OPEN_PAGE_RANK_KEY", settings.openPageRankKey), (key) =>
        OpenPageRank.layer({ url: settings.openPageRankUrl, key }),
      ).pipe(Layer.unwrapEffect)
    case "dataforseo":
      return Effect.map(
        Effect.all({
          login: required("AUTHORITY_DATAFORSEO_LOGIN", settings.dataforseoLogin),
          password: required("AUTHORITY_DATAFORSEO_PASSWORD", settings.dataforseoPassword),
        }),
        (credentials) => DataForSeo.layer({ url: settings.dataforseoUrl, ...credentials }),
      ).pipe(Layer.unwrapEffect)
  }
}

/** A setting that only some providers need. */
const required = <A>(name: string, value: A | undefined) =>
  value === undefined
    ? new ProviderNotConfigured({ message: `${name} is not set, and the provider needs it` })
    : Effect.succeed(value)
