/** The figures of a target, the outcome of a check, and where the figures come from. */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"

/**
 * A figure from 0 to 100, possibly with a fraction. Every provider converts its figures to this
 * scale.
 */
export const Score = Schema.Number.pipe(
  Schema.between(0, 100, {
    title: "Score",
    description: "a number from 0 to 100, fractions allowed",
  }),
)

export const Metrics = Schema.Struct({
  domainAuthority: Score.annotations({
    description: "How authoritative the whole domain is, from 0 to 100, fractions allowed.",
  }),
  pageAuthority: Score.annotations({
    description: "How authoritative this page is, from 0 to 100, fractions allowed.",
  }),
  spamScore: Schema.optionalWith(
    Score.annotations({
      description:
        "How much the domain resembles spam, from 0 to 100. Absent when the provider has no score.",
    }),
    { exact: true },
  ),
})
export type Metrics = typeof Metrics.Type

export const metricsOf = (
  domainAuthority: number,
  pageAuthority: number,
  spamScore: number | null | undefined,
): Metrics =>
  spamScore === null || spamScore === undefined
    ? { domainAuthority, pageAuthority }
    : { domainAuthority, pageAuthority, spamScore }

const isScore = (figure: unknown) => typeof figure === "number" && figure >= 0 && figure <= 100

/**
 * True when every figure is a number from 0 to 100. A provider in plain JavaScript may give a
 * string or null. Avoids the schema `Score`, because this runs for every outcome and must be fast.
 */
export const isWithinScale = ({ domainAuthority, pageAuthority, spamScore }: Metrics): boolean =>
  isScore(domainAuthority) &&
  isScore(pageAuthority) &&
  (spamScore === undefined || isScore(spamScore))

/** Why a URL could not be checked, as the HTTP interface reports it. */
export const FailureReason = Schema.Literal(
  "PROVIDER_ERROR",
  "SERVER_ERROR",
  "INVALID_URL",
).annotations({
  description:
    "`INVALID_URL`: the URL is not a public web address, so no provider was asked. " +
    "`PROVIDER_ERROR`: the provider failed for this URL or did not answer in time. " +
    "`SERVER_ERROR`: the service itself failed for this URL.",
})
export type FailureReason = typeof FailureReason.Type

/** The number of failed checks by reason. */
export type FailureCounts = Readonly<Record<FailureReason, number>>

export const noFailures: FailureCounts = { INVALID_URL: 0, PROVIDER_ERROR: 0, SERVER_ERROR: 0 }

/**
 * Why a target has no figures, in more detail than `FailureReason`. PROVIDER_ERROR has four causes:
 * the provider does not know the target (`unknown`), failed for it (`failed`), did not answer in
 * time (`timeout`), or has used up its quota (`exhausted`).
 */
export type FailureCause = ProviderCause | "invalid" | "internal"
export type ProviderCause = "unknown" | "failed" | "timeout" | "exhausted"

export interface Origin {
  /** The provider that gave the figures; absent when it is the provider that was asked. */
  readonly provider?: string | undefined
  /** Absent when the figures were bought for this request. */
  readonly source?: "known" | "stale" | undefined
  /** When the provider gave the figures, in epoch milliseconds; absent when that is now. */
  readonly fetchedAt?: number | undefined
  /** The vendor's name or date of the index that the figures come from. */
  readonly index?: string | undefined
  /** The domain that these figures belong to, if it is not the target's own host. */
  readonly of?: string | undefined
}

/**
 * The result for one target. `detail` is for the operator's log and is not sent to the client.
 * `isPartial` figures are not cached, because the provider has others that are missing here.
 */
export type Outcome = Data.TaggedEnum<{
  Checked: Origin & {
    readonly metrics: Metrics
    readonly isPartial?: boolean
  }
  Failed: {
    readonly reason: FailureReason
    readonly cause: FailureCause
    readonly detail: string
  }
}>
export const Outcome = Data.taggedEnum<Outcome>()

// Kept in a variable, because each access to `Outcome.Checked` makes a new constructor.
const checked = Outcome.Checked

export const checkedFrom = (metrics: Metrics, { index, of, ...origin }: Origin): Outcome =>
  index === undefined && of === undefined
    ? checked({ metrics, ...origin })
    : checked({
        metrics,
        ...origin,
        ...(index !== undefined && { index }),
        ...(of !== undefined && { of }),
      })

const usualCauses: Readonly<Record<FailureReason, FailureCause>> = {
  INVALID_URL: "invalid",
  PROVIDER_ERROR: "failed",
  SERVER_ERROR: "internal",
}

/** Makes a failed outcome with the cause that is usual for its reason. */
export const failed = (reason: FailureReason, detail: string): Outcome =>
  Outcome.Failed({ reason, cause: usualCauses[reason], detail })

/** The outcome of a target for which the provider gives no usable figures. */
export const providerFailed = (detail: string, cause: ProviderCause = "failed"): Outcome =>
  Outcome.Failed({ reason: "PROVIDER_ERROR", cause, detail })

/** The outcome of a target that has no answer by the deadline. */
export const unanswered = providerFailed("no answer in time", "timeout")

/**
 * The outcome of targets for which the provider is not asked, because of the account's earlier
 * requests.
 */
export const tooManyRefused = providerFailed(
  "the provider refused too many URLs of this account; it is asked again in five minutes",
)
export const tooManyUnknown = providerFailed(
  "the account asked for too many URLs that the provider does not know; it is asked again within an hour",
)

/** The outcome of a target that is missing from the provider's answer. */
export const missing = providerFailed("the provider's answer does not contain the target")

/** The outcome of a target whose lookup ended with a defect. */
export const broken = failed("SERVER_ERROR", "a bug in the service made the lookup fail")

const CompactMetrics = Schema.Tuple(Score, Score, Schema.optionalElement(Score))
type CompactMetrics = typeof CompactMetrics.Type

/**
 * The stored form of an outcome: a reason, or `[domain authority, page authority, spam score?]`.
 */
export const CompactOutcome = Schema.Union(FailureReason, CompactMetrics)
export type CompactOutcome = typeof CompactOutcome.Type

export const compact = ({ domainAuthority, pageAuthority, spamScore }: Metrics): CompactMetrics =>
  spamScore === undefined
    ? [domainAuthority, pageAuthority]
    : [domainAuthority, pageAuthority, spamScore]

export const expand = ([domainAuthority, pageAuthority, spamScore]: CompactMetrics): Metrics =>
  metricsOf(domainAuthority, pageAuthority, spamScore)

/** Where figures come from, for clients that ask. */
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

/** Why a URL has no figures, for clients that ask. */
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

/** The source of one outcome. */
export const Source = Schema.Union(Provenance, Explanation)
export type Source = typeof Source.Type

/**
 * `provider` is the provider that was asked, for outcomes that name none. `now` is in epoch
 * milliseconds. Does not quote the vendor, because its text may be for the operator only.
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

/**
 * The causes whose `detail` may be shown: it is the service's own text, or concerns the target
 * alone.
 */
const hasOwnWords = new Set<Explanation["cause"]>(["invalid", "unknown"])

const details: Readonly<Record<Explanation["cause"], string>> = {
  invalid: "The URL is not a public web address.",
  unknown: "The provider has no figures for this URL.",
  failed: "The provider failed for this URL; a later request may succeed.",
  timeout: "The provider did not answer in time; a later request may succeed.",
  exhausted: "The provider's quota is used up; a later request may succeed.",
  internal: "The service failed for this URL; a later request may succeed.",
}
