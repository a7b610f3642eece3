/** Lets transactions of the ledger meet at the moments at which a database could get them wrong. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { v7 as uuid } from "uuid"
import type { AccountId } from "../Account.ts"
import type { CreditLedger } from "../CreditLedger.ts"
import { within } from "../Deadline.ts"
import { Credits } from "../ledger/Credits.ts"
import { RequestId } from "../RequestId.ts"
import type { ConnectionFaults } from "./ConnectionFaults.ts"

type Ledger = CreditLedger["Type"]

export interface Contestants {
  /** The faults of the first ledger's connections. */
  readonly faults: ConnectionFaults
  /** Two ledgers on one database, each with its own connections. */
  readonly ledgers: readonly [Ledger, Ledger]
  /** How long a transaction takes when it does not wait for another one, in milliseconds. */
  readonly patienceMs: number
}

const newHold = (accountId: AccountId) => ({
  accountId,
  requestId: RequestId.make(uuid()),
  amount: Credits.make(10),
})

/** The time limit of a commit that waits for another transaction, in milliseconds. */
const limitMs = 20_000

/**
 * Opens two holds of 10 credits, the second while the COMMIT of the first is kept back. The second
 * must wait, or one of them start again. Returns what is wrong; undefined when nothing is. The
 * account must have no holds, and 10 or 20 credits.
 */
export const holdTwice = (account: AccountId, { faults, ledgers, patienceMs }: Contestants) =>
  Effect.gen(function* () {
    const late = faults.keepNextCommit()
    const open = (ledger: Ledger) => {
      const hold = newHold(account)
      return Effect.fork(ledger.open(hold).pipe(Effect.as(hold), within(limitMs)))
    }
    const first = yield* open(ledgers[0])
    yield* Effect.timeoutOption(
      Effect.promise(() => late.arrived),
      limitMs,
    )
    const second = yield* open(ledgers[1])
    yield* Effect.timeoutOption(Fiber.await(second), patienceMs)
    late.send()
    const exits = [yield* Fiber.await(first), yield* Fiber.await(second)]
    const opened = exits.flatMap((exit) => (Exit.isSuccess(exit) ? [exit.value] : []))
    const { granted, held } = yield* ledgers[1].balance(account)
    yield* Effect.forEach(opened, ledgers[1].release)
    if (opened.length * 10 > granted) {
      return `two holds at the same time overdrew an account, because ${noLocks}`
    }
    if (held !== opened.length * 10) {
      return `of two holds at the same time the balance lost one, because ${noLocks}`
    }
    return opened.length * 10 < granted
      ? `two holds at the same time failed (${exits.find(Exit.isFailure)?.cause})`
      : undefined
  })

const noLocks = "the database ignores the row locks of SELECT … FOR UPDATE"

type Pair = readonly [AccountId, AccountId]

/**
 * Charges two accounts in one commit, which locks them in the order of their ids, while
 * `lockInTurn` locks them the other way round. The database must end this deadlock, and the ledger
 * repeat its transaction if that is the one to end. Returns why a charge failed.
 */
export const chargeInDeadlock = <R>(
  [first, second]: Pair,
  lockInTurn: (accounts: Pair, between: Effect.Effect<void>) => Effect.Effect<void, unknown, R>,
  { ledgers, patienceMs }: Contestants,
) =>
  Effect.gen(function* () {
    const isLocked = yield* Deferred.make<void>()
    const charge = (account: AccountId) =>
      ledgers[0].charge(newHold(account), { amount: Credits.make(1), urls: 1 })
    const charging = yield* Deferred.await(isLocked).pipe(
      Effect.zipRight(
        Effect.forEach([first, second], charge, { concurrency: "unbounded", discard: true }),
      ),
      within(limitMs),
      Effect.fork,
    )
    const between = Effect.zipRight(Deferred.succeed(isLocked, undefined), Effect.sleep(patienceMs))
    yield* Effect.ignore(lockInTurn([second, first], between))
    return yield* Fiber.await(charging)
  })
