/** What became of a batch and what it costs: pure rules. */
import { hash } from "node:crypto"
import * as Either from "effect/Either"
import type { AccountId } from "./Account.ts"
import type { Charge, Hold } from "./ledger/Hold.ts"
import { type Credits, creditsOf } from "./ledger/LedgerEntry.ts"
import { isWithinScale, Outcome } from "./Metrics.ts"
import type { RequestId } from "./RequestId.ts"
import * as StoredAnswer from "./StoredAnswer.ts"
import { type InvalidUrl, Target } from "./Target.ts"

/** A batch of an account. */
export interface Request {
  readonly accountId: AccountId
  readonly requestId: RequestId
  readonly urls: ReadonlyArray<string>
  /** The client's name for the request. */
  readonly idempotencyKey?: string | undefined
}

/** What became of the submitted URLs, and what it cost. */
export interface Report {
  /** As they were submitted. */
  readonly urls: ReadonlyArray<string>
  /** One for each URL, in their order. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly creditsUsed: Credits
  /** True for the stored answer of an earlier request: nothing was charged this time. */
  readonly isReplay: boolean
}

/** A target for each URL, or why it is none. */
export const parse = (urls: ReadonlyArray<string>) => urls.map((url) => Target.parse(url))

/** `outcomes` are of the targets, in their order; `price` is of one successful check. */
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

/** The report of an earlier request, from its stored answer. */
export const replay = (urls: ReadonlyArray<string>, answer: string): Report => ({
  urls,
  ...StoredAnswer.decode(answer),
  isReplay: true,
})

/** The credits that the request may cost, which is when all its targets succeed. */
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

export const chargeOf = ({ creditsUsed }: Report, price: Credits): Charge => ({
  amount: creditsUsed,
  urls: creditsUsed / price,
})

/** Undefined where the client has not named the request. */
export const storedAnswerOf = ({ idempotencyKey }: Hold, report: Report): string | undefined =>
  idempotencyKey === undefined ? undefined : StoredAnswer.encode(report)

/** The same URLs in the same order are the same question. */
const fingerprint = (urls: ReadonlyArray<string>): string => hash("sha256", JSON.stringify(urls))

export const unanswered = Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "no answer in time" })

/** No response can carry a figure off the scale, and what cannot be answered must not be charged. */
const withinScale = (outcome: Outcome): Outcome =>
  outcome._tag === "Failed" || isWithinScale(outcome.metrics) ? outcome : offScale

const offScale = Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "a figure is off the scale" })

const invalid = ({ problem }: InvalidUrl) =>
  Outcome.Failed({ reason: "INVALID_URL", detail: problem })
