/** Pure rules for the result of a batch: its outcomes, its cost, and its stored answer. */
import * as Either from "effect/Either"
import type { UrlList } from "./Batch.ts"
import type { Charge, Hold } from "./ledger/Hold.ts"
import { type Credits, creditsOf } from "./ledger/Credits.ts"
import {
  failed,
  isWithinScale,
  noFailures,
  type Outcome,
  providerFailed,
  unanswered,
} from "./Metrics.ts"
import { type Source, sourceOf } from "./Provenance.ts"
import * as StoredAnswer from "./StoredAnswer.ts"
import type { InvalidUrl } from "./Target.ts"

/** The outcomes of the submitted URLs, and their cost. */
export interface Report {
  readonly urls: ReadonlyArray<string>
  /** One outcome for each URL, in order. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly creditsUsed: Credits
  /** One for each URL, in order; absent unless the client asked for the provenance. */
  readonly sources?: ReadonlyArray<Source> | undefined
  /** True for a replay of a stored answer, which charges nothing. */
  readonly isReplay: boolean
}

/**
 * Makes a report. `outcomes` has one outcome for each valid URL, in order. `price` is the number of
 * credits for one successful check.
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
 * Makes the report for a repeated request from the stored answer to the first request. Throws when
 * `answer` cannot be decoded.
 */
export const replay = (urls: ReadonlyArray<string>, answer: string): Report => ({
  urls,
  ...StoredAnswer.decode(answer),
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
  idempotencyKey === undefined ? undefined : StoredAnswer.encode(report)

// Turns a checked outcome with a figure outside 0 to 100 into a failure. The contract does not
// allow such a figure, so the check must not be charged.
const withinScale = (outcome: Outcome): Outcome =>
  outcome._tag === "Failed" || isWithinScale(outcome.metrics) ? outcome : offScale

const offScale = providerFailed("a figure is outside its scale")

const invalid = ({ problem }: InvalidUrl) => failed("INVALID_URL", problem)
