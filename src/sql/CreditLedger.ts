/**
 * The credit ledger in SQL. Each method makes a command. `GroupCommit` gathers the commands of
 * concurrent requests, and `LedgerCommit` runs them in one transaction.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Books, Refusal } from "../ledger/Books.ts"
import { CreditLedger } from "../CreditLedger.ts"
import { commitGraceMs, Deadline } from "../Deadline.ts"
import type { Charge, Hold } from "../ledger/Hold.ts"
import { StoreTimeout } from "../StoreTimeout.ts"
import * as BalanceReader from "./BalanceReader.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { Heartbeat } from "./Heartbeat.ts"
import * as HoldExpiry from "./HoldExpiry.ts"
import * as LedgerCommit from "./LedgerCommit.ts"
import { makeQueries } from "./ledgerQueries.ts"
import * as LedgerReads from "./LedgerReads.ts"

export interface Options extends Omit<LedgerCommit.Options, "leaseMs"> {
  /** Maximum lifetime of an open hold, and of an idempotency key without an answer. */
  readonly lease: Duration.DurationInput
}

/**
 * If the context provides a Heartbeat, each hold stores the id of the process that opened it, and
 * `expire` also ends the holds of dead processes.
 */
export const layer = (options: Options): Layer.Layer<CreditLedger, never, SqlClient.SqlClient> =>
  Layer.scoped(CreditLedger, make(options))

/** A command that returns a result to its caller. */
interface Change<A, E> extends Omit<LedgerCommit.Command, "apply"> {
  /** True when the command charges credits if it succeeds. */
  readonly charges: boolean
  /**
   * The hold that the command opens. It is released when the commit fails, or when the caller stops
   * waiting during the commit.
   */
  readonly opens?: Hold
  /** `now` is the time when the transaction began, in epoch milliseconds. */
  readonly apply: (books: Books, now: number) => Either.Either<A, E>
}

type Callback<A, E> = (exit: Exit.Exit<A, E>) => void

/**
 * Charges as `CreditLedger.charge` does, but passes the result to `callback`, which is called once
 * and must not throw. `deadline` is a time of `MonotonicClock`.
 */
export type Charger = (
  hold: Hold,
  charge: Charge,
  answer: string | undefined,
  deadline: number,
  callback: Callback<Option.Option<string>, Refusal | StoreTimeout>,
) => void

const chargers = new WeakMap<CreditLedger["Type"], Charger>()

/** Returns the Charger of a ledger that this layer made, or undefined for any other ledger. */
export const chargerOf = (ledger: CreditLedger["Type"]): Charger | undefined => chargers.get(ledger)

const notApplied = Exit.die("the commit left out this change")

const make = (options: Options) =>
  Effect.gen(function* () {
    const leaseMs = Duration.toMillis(options.lease)
    const sql = yield* SqlClient.SqlClient
    const heartbeat = Option.getOrUndefined(yield* Effect.serviceOption(Heartbeat))
    const clock = yield* Effect.clock
    const queries = makeQueries(sql, heartbeat?.owner ?? null)
    const queue = yield* GroupCommit.make(
      LedgerCommit.make(sql, queries, heartbeat, { ...options, leaseMs }),
    )

    const ask = <A, E>(
      change: Change<A, E>,
      deadline: number,
      callback: Callback<A, E | StoreTimeout>,
    ): void => {
      let answer: Exit.Exit<A, E> = notApplied
      const apply = (books: Books, now: number) => {
        try {
          answer = Exit.fromEither(change.apply(books, now))
        } catch (defect) {
          // A defect must fail only its own command, not the other commands in the commit.
          answer = Exit.die(defect)
        }
      }
      const { accountId, charges, endsHoldOf, keyedHold, opens } = change
      queue.submit(
        { accountId, endsHoldOf, keyedHold, apply },
        (exit) => {
          if (Exit.isSuccess(exit)) return callback(answer)
          const isUndecided = Option.contains(Cause.failureOption(exit.cause), "undecided")
          // Release the hold if it may exist: the commit is still in progress, or it ran the
          // command and then failed, perhaps because only the answer to its COMMIT was lost.
          if (opens !== undefined && (isUndecided || answer !== notApplied)) releaseSoon(opens)
          callback(
            charges && Option.exists(Cause.dieOption(exit.cause), LedgerCommit.isUndecided)
              ? Exit.fail(timeout(true))
              : Exit.failCause(Cause.map(exit.cause, () => timeout(charges && isUndecided))),
          )
        },
        deadline + commitGraceMs,
      )
    }

    /** Submits a change. Waits for the commit until `commitGraceMs` after the current Deadline. */
    const submit = <A, E>(change: Change<A, E>): Effect.Effect<A, E | StoreTimeout> =>
      Effect.flatMap(Deadline, (deadline) =>
        GroupCommit.awaited((callback) => ask(change, deadline, callback)),
      )

    /** Submits a change and waits as long as the commit takes. */
    const submitWithoutDeadline = <A>(change: Change<A, never>): Effect.Effect<A> =>
      Effect.orDie(
        GroupCommit.awaited<A, StoreTimeout>((callback) =>
          ask(change, Number.POSITIVE_INFINITY, callback),
        ),
      )

    const charger: Charger = (hold, charge, answer, deadline, callback) =>
      ask(
        {
          accountId: hold.accountId,
          endsHoldOf: undefined,
          keyedHold: keyedHoldOf(hold),
          charges: charge.amount > 0,
          apply: (books, now) => books.charge(hold, charge, answer, now),
        },
        deadline,
        callback,
      )

    /** Releases a hold, then calls `callback`. `expire` repeats a release that failed. */
    const releaseSoon = (hold: Hold, callback = () => {}) =>
      ask(releaseOf(hold), Number.POSITIVE_INFINITY, (exit) => {
        if (Exit.isFailure(exit)) {
          expiry.releaseFailed(hold, clock.unsafeCurrentTimeMillis() + leaseMs)
        }
        callback()
      })

    const expiry = HoldExpiry.make({
      sql,
      queries,
      heartbeat,
      release: (hold) => submitWithoutDeadline(releaseOf(hold)),
    })

    const ledger = CreditLedger.of({
      balance: yield* BalanceReader.make(queries),

      open: (hold) =>
        submit({
          accountId: hold.accountId,
          endsHoldOf: undefined,
          keyedHold: keyedHoldOf(hold),
          charges: false,
          opens: hold,
          apply: (books, now) => books.open(hold, now),
        }),

      settle: (hold, charge, answer) =>
        submit({
          accountId: hold.accountId,
          endsHoldOf: hold.requestId,
          keyedHold: keyedHoldOf(hold),
          charges: charge.amount > 0,
          apply: (books, now) => books.settle(hold, charge, answer, now),
        }),

      charge: (hold, charge, answer) =>
        Effect.flatMap(Deadline, (deadline) =>
          GroupCommit.awaited((callback) => charger(hold, charge, answer, deadline, callback)),
        ),

      release: (hold) =>
        Effect.async<void>((resume) => releaseSoon(hold, () => resume(Effect.void))),

      grant: (accountId, amount, note) =>
        submitWithoutDeadline({
          accountId,
          endsHoldOf: undefined,
          keyedHold: undefined,
          charges: false,
          apply: (books, now) => books.grant(accountId, amount, note, now),
        }),

      expire: expiry.expire,

      ...LedgerReads.make(queries),
    })
    chargers.set(ledger, charger)
    return ledger
  })

const timeout = (mayCharge: boolean) => new StoreTimeout({ mayCharge })

const releaseOf = (hold: Hold): Change<boolean, never> => ({
  accountId: hold.accountId,
  endsHoldOf: hold.requestId,
  keyedHold: keyedHoldOf(hold),
  charges: false,
  apply: (books) => books.release(hold),
})

const keyedHoldOf = (hold: Hold) => (hold.idempotencyKey === undefined ? undefined : hold)
