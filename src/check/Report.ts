/** Pure rules for the result of a batch: its outcomes, its cost, and its stored answer. */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { UrlList } from "./Batch.ts"
import type { Charge, Hold } from "../ledger/Hold.ts"
import { Credits, creditsOf } from "../ledger/Credits.ts"
import {
  compact,
  CompactOutcome,
  expand,
  failed,
  isWithinScale,
  noFailures,
  Outcome,
  providerFailed,
  Source,
  sourceOf,
  unanswered,
} from "./Metrics.ts"
import type { InvalidUrl } from "./Target.ts"

/**
 * The part of a report that is stored. It has no URLs, because a repeated request sends them again.
 */
export interface Answer {
  readonly outcomes: ReadonlyArray<Outcome>
  readonly creditsUsed: Credits
  /** One source for each URL, in order; absent unless the client asked for the provenance. */
  readonly sources?: ReadonlyArray<Source> | undefined
}

export interface Report extends Answer {
  readonly urls: ReadonlyArray<string>
  /** True for a replay of a stored answer, which charges nothing. */
  readonly isReplay: boolean
}

/**
 * Makes a report from one outcome for each valid URL, in order. `price` is the number of credits
 * for one successful check.
 */
export const make = (
  { parsed, urls }: UrlList,
  outcomes: ReadonlyArray<Outcome>,
  price: Credits,
): Report => {
  let [next, successes] = [0, 0]
  const all = parsed.map((target) => {
    if (Either.isLeft(target)) return invalid(target.left)
    const outcome = withinScale(outcomes[next++] ?? unanswered)
    if (outcome._tag === "Checked") successes++
    return outcome
  })
  return { urls, outcomes: all, creditsUsed: creditsOf(price * successes), isReplay: false }
}

/** Adds where each figure comes from. `provider` is the provider that was asked. */
export const withSources = (report: Report, provider: string, now: number): Report => ({
  ...report,
  sources: report.outcomes.map((outcome) => sourceOf(outcome, provider, now)),
})

/**
 * Makes the report for a repeated request from the stored answer to the first one. Throws when
 * `answer` cannot be decoded.
 */
export const replay = (urls: ReadonlyArray<string>, answer: string): Report => ({
  urls,
  ...decode(answer),
  isReplay: true,
})

export const chargeOf = ({ creditsUsed, outcomes }: Report, price: Credits): Charge => {
  let known = 0
  const failed = { ...noFailures }
  for (const outcome of outcomes) {
    if (outcome._tag === "Failed") failed[outcome.reason]++
    else if (outcome.source !== undefined) known++
  }
  return { amount: creditsUsed, urls: creditsUsed / price, known, failed }
}

/** The answer to store; undefined when the request has no idempotency key. */
export const storedAnswerOf = ({ idempotencyKey }: Hold, report: Report): string | undefined =>
  idempotencyKey === undefined ? undefined : encode(report)

// Turns a checked outcome with a figure outside 0 to 100 into a failure. The contract does not
// allow such a figure, so it must not be charged.
const withinScale = (outcome: Outcome): Outcome =>
  outcome._tag === "Failed" || isWithinScale(outcome.metrics) ? outcome : offScale

const offScale = providerFailed("a figure is outside its scale")

const invalid = ({ problem }: InvalidUrl) => failed("INVALID_URL", problem)

/** Encodes an answer. Keep `decode` able to read what every earlier version encoded. */
export const encode = ({ creditsUsed, outcomes, sources }: Answer): string => {
  const stored: typeof Stored.Encoded = {
    creditsUsed,
    outcomes: outcomes.map(encodeOutcome),
    ...(sources !== undefined && { sources }),
  }
  return JSON.stringify(stored)
}

/** Decodes a stored answer, which has no `detail` of failures. Throws when it is not valid. */
export const decode = (text: string): Answer => {
  const { outcomes, ...stored } = decodeStored(text)
  return { ...stored, outcomes: outcomes.map(decodeOutcome) }
}

const Stored = Schema.Struct({
  creditsUsed: Credits,
  outcomes: Schema.Array(CompactOutcome),
  sources: Schema.optionalWith(Schema.Array(Source), { exact: true }),
})
const decodeStored = Schema.decodeUnknownSync(Schema.parseJson(Stored))

const encodeOutcome = (outcome: Outcome): CompactOutcome =>
  outcome._tag === "Failed" ? outcome.reason : compact(outcome.metrics)

const decodeOutcome = (stored: CompactOutcome): Outcome =>
  typeof stored === "string"
    ? failed(stored, "as stored")
    : Outcome.Checked({ metrics: expand(stored) })
