/** Requests against a ledger, as the service makes them, and a record of each for the comparison. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { v7 as uuid } from "uuid"
import { AccountId } from "../Account.ts"
import { CreditLedger } from "../CreditLedger.ts"
import { within } from "../Deadline.ts"
import { Credits } from "../ledger/Credits.ts"
import { metricsOf, Outcome as CheckOutcome } from "../Metrics.ts"
import { RequestId } from "../RequestId.ts"
import * as StoredAnswer from "../StoredAnswer.ts"

/** What one client asked for, and what it learned. */
export const Outcome = Schema.Struct({
  account: AccountId,
  /** The price, which is charged once when the request is acknowledged. */
  credits: Credits,
  /** The request ids of the attempts. Only a request with an idempotency key is repeated. */
  attempts: Schema.Array(RequestId),
  /** True when the ledger answered that the charge is durable. */
  isAcknowledged: Schema.Boolean,
  /** Why the last attempt failed; null when it succeeded. */
  problem: Schema.NullOr(Schema.String),
})
export type Outcome = typeof Outcome.Type

export interface Options {
  /** The first account gets half of the requests, so that it is always in use. */
  readonly accounts: ReadonlyArray<AccountId>
  readonly clients: number
  /** Returns false when no client may begin another request. */
  readonly goesOn: () => boolean
  readonly report: (outcome: Outcome) => void
}

/** The time limit of one attempt, in milliseconds. */
const attemptMs = 5_000

/** How long a request with an idempotency key is repeated. */
const patience = "20 seconds"

/** Returns when every request has its outcome. */
export const run = ({ accounts, clients, goesOn, report }: Options) =>
  Effect.forEach(
    Array.from({ length: clients }),
    () =>
      request(accounts).pipe(
        Effect.map(report),
        // Mild, because other programs may use the server.
        Effect.zipRight(Effect.flatMap(Random.nextIntBetween(10, 30), Effect.sleep)),
        Effect.repeat({ while: goesOn }),
      ),
    { concurrency: "unbounded", discard: true },
  )

const request = Effect.fnUntraced(function* (accounts: ReadonlyArray<AccountId>) {
  const [hot = AccountId.make(""), ...others] = accounts
  const account = (yield* Random.nextBoolean) ? hot : yield* Random.choice([hot, ...others])
  const credits = Credits.make(yield* Random.nextIntBetween(1, 4))
  const key = (yield* Random.nextBoolean) ? uuid() : undefined
  const attempts: Array<RequestId> = []
  let isAcknowledged = false
  const attempt = Effect.suspend(() => {
    const requestId = RequestId.make(uuid())
    attempts.push(requestId)
    return charge({ account, credits, key, requestId })
  }).pipe(
    within(attemptMs),
    Effect.map(() => {
      isAcknowledged = true
    }),
    Effect.sandbox,
  )
  const again = Schedule.upTo(Schedule.spaced("100 millis"), patience)
  const sent = key === undefined ? attempt : Effect.retry(attempt, again)
  // As a client does whose answer got lost on the way.
  const isSentTwice = key !== undefined && (yield* Random.nextBoolean)
  const problem = yield* (isSentTwice ? Effect.zipRight(sent, sent) : sent).pipe(
    Effect.match({ onFailure: problemOf, onSuccess: () => null }),
  )
  return Outcome.make({ account, credits, attempts, isAcknowledged, problem })
})

const answerOf = (creditsUsed: Credits) =>
  StoredAnswer.encode({
    creditsUsed,
    outcomes: Array.from({ length: creditsUsed }, () => CheckOutcome.Checked({ metrics })),
  })

const metrics = metricsOf(50, 50, undefined)

/** Why a request failed, without the stack. */
export const problemOf = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}

const charge = Effect.fnUntraced(function* (options: {
  readonly account: AccountId
  readonly credits: Credits
  readonly key: string | undefined
  readonly requestId: RequestId
}) {
  const { account, credits, key, requestId } = options
  const ledger = yield* CreditLedger
  const answer = key === undefined ? undefined : answerOf(credits)
  const hold = {
    accountId: account,
    requestId,
    amount: Credits.make(credits + 1),
    idempotencyKey: key === undefined ? undefined : { key, fingerprint: "" },
  }
  const paid = { amount: credits, urls: credits }
  const isKnown = yield* Random.nextBoolean
  const stored = yield* isKnown ? ledger.charge(hold, paid, answer) : ledger.open(hold)
  if (!isKnown && Option.isNone(stored)) yield* ledger.settle(hold, paid, answer)
})
