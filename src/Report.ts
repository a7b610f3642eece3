/** Pure rules for a batch: its outcomes, its cost, and its stored answer. */
import { hash } from "node:crypto"
import * as Either from "effect/Either"
import type { AccountId } from "./Account.ts"
import type { Charge, Hold } from "./ledger/Hold.ts"
import { type Credits, creditsOf } from "./ledger/Credits.ts"
import { isWithinScale, Outcome } from "./Metrics.ts"
import type { RequestId } from "./RequestId.ts"
import * as StoredAnswer from "./StoredAnswer.ts"
import { type InvalidUrl, Target } from "./Target.ts"

/** A batch that an account submits. */
export interface Request {
  readonly accountId: AccountId
  readonly requestId: RequestId
  readonly urls: ReadonlyArray<string>
  /** The client's name for the request; absent when the client sent none. */
  readonly idempotencyKey?: string | undefined
}

/** The outcomes of the submitted URLs, and their cost. */
export interface Report {
  /** The URLs as submitted. */
  readonly urls: ReadonlyArray<string>
  /** One outcome for each URL, in order. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly creditsUsed: Credits
  /** True for a replay of a stored answer, which charges nothing. */
  readonly isReplay: boolean
}

/** Parses each URL to a target, or to the reason why it is invalid. */
export const parse = (urls: ReadonlyArray<string>) => urls.map((url) => Target.parse(url))

/** Makes a report. `outcomes` belong to the valid targets, in order. `price` is for one success. */
export const make = (
  urls: ReadonlyArray<string>,
  parsed: ReadonlyArray<Either.Either<Target, InvalidUrl>>,
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

/** Makes the report of a replay. Dies when `answer` is not a stored answer. */
export const replay = (urls: ReadonlyArray<string>, answer: string): Report => ({
  urls,
  ...StoredAnswer.decode(answer),
  isReplay: true,
})

/** The hold for a request: the cost if all targets succeed. */
export const holdOf = (
  { accountId, idempotencyKey: key, requestId, urls }: Request,
  targets: ReadonlyArray<Target>,
  price: Credits,
): Hold => ({
  accountId,
  requestId,
  amount: creditsOf(price * targets.length),
  idempotencyKey: key === undefined ? undefined : { key, fingerprint: fingerprint(urls) },
})

/** The charge for a report. */
export const chargeOf = ({ creditsUsed }: Report, price: Credits): Charge => ({
  amount: creditsUsed,
  urls: creditsUsed / price,
})

/** The answer to store; undefined when the request has no idempotency key. */
export const storedAnswerOf = ({ idempotencyKey }: Hold, report: Report): string | undefined =>
  idempotencyKey === undefined ? undefined : StoredAnswer.encode(report)

/** Two requests are the same when they have the same URLs in the same order. */
const fingerprint = (urls: ReadonlyArray<string>): string => hash("sha256", JSON.stringify(urls))

/** The outcome of a target that has no answer by the deadline. */
export const unanswered = Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "no answer in time" })

/**
 * Turns a figure outside 0 to 100 into a failure. The contract does not allow it, so it must not be
 * charged.
 */
const withinScale = (outcome: Outcome): Outcome =>
  outcome._tag === "Failed" || isWithinScale(outcome.metrics) ? outcome : offScale

const offScale = Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "a figure is off the scale" })

const invalid = ({ problem }: InvalidUrl) =>
  Outcome.Failed({ reason: "INVALID_URL", detail: problem })
