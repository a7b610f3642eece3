/** Where each figure of an answer comes from, or why it is absent. Only clients that ask get it. */
import * as Schema from "effect/Schema"
import { type Outcome, type ProviderCause, tooManyRefused, tooManyUnknown } from "./Metrics.ts"

/** Where figures come from. */
export const Provenance = Schema.Struct({
  provider: Schema.String.annotations({ description: "The provider that gave the figures." }),
  source: Schema.Literal("bought", "known", "stale").annotations({
    description:
      "`bought`: for this request. `known`: for an earlier request. `stale`: for an earlier " +
      "request, past its lifetime, because the provider fails now.",
  }),
  fetchedAt: Schema.String.annotations({
    description: "When the provider gave the figures, as an ISO 8601 time in UTC.",
  }),
  ageSeconds: Schema.Number.pipe(Schema.int(), Schema.greaterThanOrEqualTo(0)).annotations({
    description: "The age of the figures.",
  }),
  index: Schema.NullOr(Schema.String).annotations({
    description: "The provider's name or date of the index of the figures; null when it has none.",
  }),
  of: Schema.optionalWith(
    Schema.String.annotations({
      description: "The domain whose figures these are, when they are not the URL's own.",
    }),
    { exact: true },
  ),
}).annotations({
  identifier: "Provenance",
  description: "Where the figures come from.",
  examples: [
    {
      provider: "moz",
      source: "known",
      fetchedAt: "2026-11-24T08:30:00.000Z",
      ageSeconds: 5400,
      index: null,
    },
  ],
})
export type Provenance = typeof Provenance.Type

/** Why a URL has no figures. */
export const Explanation = Schema.Struct({
  cause: Schema.Literal(
    "invalid",
    "unknown",
    "failed",
    "timeout",
    "exhausted",
    "internal",
  ).annotations({
    description:
      "`invalid`: the URL is not a public web address. `unknown`: the provider has no figures for " +
      "it. `failed`: the provider failed. `timeout`: it did not answer in time. `exhausted`: its " +
      "quota is used up. `internal`: the service itself failed.",
  }),
  detail: Schema.String.annotations({ description: "The cause in one sentence." }),
})
export type Explanation = typeof Explanation.Type

/** One for each outcome. */
export const Source = Schema.Union(Provenance, Explanation)
export type Source = typeof Source.Type

/**
 * `provider` is the provider that was asked, for an outcome that does not name its own. `now` is in
 * epoch milliseconds. The texts leave out what a vendor says, because it may be the operator's own
 * affair.
 */
export const sourceOf = (outcome: Outcome, provider: string, now: number): Source => {
  if (outcome._tag === "Failed") {
    const { cause, detail } = outcome
    const isOwn = hasOwnWords.has(cause) || outcome === tooManyRefused || outcome === tooManyUnknown
    return { cause, detail: isOwn ? `${detail}.` : details[cause] }
  }
  const { fetchedAt = now, index = null, of, source = "bought" } = outcome
  return {
    provider: outcome.provider ?? provider,
    source,
    fetchedAt: new Date(fetchedAt).toISOString(),
    ageSeconds: Math.max(0, Math.floor((now - fetchedAt) / 1000)),
    index,
    ...(of !== undefined && { of }),
  }
}

/** The causes whose `detail` is the service's own text, or the provider's about the target alone. */
const hasOwnWords = new Set<Explanation["cause"]>(["invalid", "unknown"])

const details: Readonly<Record<Explanation["cause"], string>> = {
  invalid: "The URL is not a public web address.",
  unknown: "The provider has no figures for this URL.",
  failed: "The provider failed for this URL; a later request may succeed.",
  timeout: "The provider did not answer in time; a later request may succeed.",
  exhausted: "The provider's quota is used up; a later request may succeed.",
  internal: "The service failed for this URL; a later request may succeed.",
} satisfies Record<ProviderCause | "invalid" | "internal", string>
