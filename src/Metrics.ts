/** What is known about a target, or why nothing is. */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"

/** A figure on the scale that every provider is brought to: 0 to 100, fractions allowed. */
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
        "How much the domain resembles spam, from 0 to 100; absent when the provider has no score.",
    }),
    { exact: true },
  ),
})
export type Metrics = typeof Metrics.Type

/** `spamScore` is left out where there is none. */
export const metricsOf = (
  domainAuthority: number,
  pageAuthority: number,
  spamScore: number | null | undefined,
): Metrics =>
  spamScore === null || spamScore === undefined
    ? { domainAuthority, pageAuthority }
    : { domainAuthority, pageAuthority, spamScore }

const isScore = (figure: number) => figure >= 0 && figure <= 100

/** As the schema has it, without its machinery: it is asked of every figure of every answer. */
export const isWithinScale = ({ domainAuthority, pageAuthority, spamScore }: Metrics): boolean =>
  isScore(domainAuthority) &&
  isScore(pageAuthority) &&
  (spamScore === undefined || isScore(spamScore))

/** Why a URL could not be checked, in the words of the interface. */
export const FailureReason = Schema.Literal(
  "PROVIDER_ERROR",
  "SERVER_ERROR",
  "INVALID_URL",
).annotations({
  description:
    "`INVALID_URL`: it cannot be a public web address; nobody was asked. `PROVIDER_ERROR`: the " +
    "provider failed for it, or gave no answer in time. `SERVER_ERROR`: the service failed for it.",
})
export type FailureReason = typeof FailureReason.Type

/** What became of one target. `detail` is for the operator's log, never for the client. */
export type Outcome = Data.TaggedEnum<{
  Checked: { readonly metrics: Metrics }
  Failed: { readonly reason: FailureReason; readonly detail: string }
}>
export const Outcome = Data.taggedEnum<Outcome>()

const CompactMetrics = Schema.Tuple(Score, Score, Schema.optionalElement(Score))
type CompactMetrics = typeof CompactMetrics.Type

/** An outcome as it is stored: domain authority, page authority and spam score, or a reason. */
export const CompactOutcome = Schema.Union(FailureReason, CompactMetrics)
export type CompactOutcome = typeof CompactOutcome.Type

export const compact = ({ domainAuthority, pageAuthority, spamScore }: Metrics): CompactMetrics =>
  spamScore === undefined
    ? [domainAuthority, pageAuthority]
    : [domainAuthority, pageAuthority, spamScore]

export const expand = ([domainAuthority, pageAuthority, spamScore]: CompactMetrics): Metrics =>
  metricsOf(domainAuthority, pageAuthority, spamScore)
