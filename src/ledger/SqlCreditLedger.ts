/**
 * The credit ledger in SQL. Each method makes a command. `GroupCommit` gathers the commands of
 * concurrent requests, and `LedgerCommit` runs them in one transaction.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { AccountId } from "../Account.ts"
import { Actor, CurrentRequest } from "../AuditLog.ts"
import type { Balance } from "./Balance.ts"
import type { Books, Refusal } from "./Books.ts"
import { CreditLedger } from "./CreditLedger.ts"
import { commitGraceMs, Deadline, waitUntil } from "../Deadline.ts"
import { awaited } from "../Direct.ts"
import type { Charge, Hold, HoldExpired } from "./Hold.ts"
import { StoreTimeout } from "./StoreTimeout.ts"
import * as BalanceReader from "./SqlBalanceReader.ts"
import * as Failure from "../sql/Failure.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { Heartbeat } from "../sql/Heartbeat.ts"
import * as HoldExpiry from "./SqlHoldExpiry.ts"
import * as LedgerCommit from "./SqlLedgerCommit.ts"
import { makeQueries, type Queries } from "./SqlLedger.ts"
import * as LedgerReads from "./SqlLedgerReads.ts"
import { makeRetryAfterDisconnection, type RetryAfterDisconnection } from "../sql/retry.ts"

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

const by = Effect.zipWith(Actor, CurrentRequest, (actor, request) =>
  Context.make(Actor, actor).pipe(Context.add(CurrentRequest, request)),
)

const notApplied = Exit.die("the commit left out this change")

const make = (options: Options) =>
  Effect.gen(function* () {
    const leaseMs = Duration.toMillis(options.lease)
    const sql = yield* SqlClient.SqlClient
    const heartbeat = Option.getOrUndefined(yield* Effect.serviceOption(Heartbeat))
    const clock = yield* Effect.clock
    const retried = yield* makeRetryAfterDisconnection
    const queries = makeQueries(sql, heartbeat?.owner ?? null)
    const queue = yield* GroupCommit.make(
      LedgerCommit.make(sql, queries, heartbeat, { ...options, leaseMs }),
    )

    const ask = asker(queue, (hold) => releaseSoon(hold))

    const submit = <A, E>(change: Change<A, E>): Effect.Effect<A, E | StoreTimeout> =>
      awaited((callback, deadline) => ask(change, callback, deadline))

    const submitWithoutDeadline = <A, E extends { readonly _tag: string }>(
      change: Change<A, E>,
    ): Effect.Effect<A, E> =>
      submit(change).pipe(
        Effect.catchIf(isTimeout, Effect.die),
        Effect.provideService(Deadline, Number.POSITIVE_INFINITY),
      )

    /** Submits a change that gets a line in the audit log. */
    const submitAct = <E extends { readonly _tag: string }>(
      accountId: AccountId,
      apply: Change<Balance, E>["apply"],
    ) => Effect.flatMap(by, (by) => submitWithoutDeadline({ ...none, accountId, by, apply }))

    /** Releases a hold, then calls `callback`. `expire` repeats a release that failed. */
    const releaseSoon = (hold: Hold, callback = () => {}) =>
      ask(
        releaseOf(hold),
        (exit) => {
          if (Exit.isFailure(exit)) {
            expiry.releaseFailed(hold, clock.unsafeCurrentTimeMillis() + leaseMs)
          }
          callback()
        },
        Number.POSITIVE_INFINITY,
      )

    const expiry = HoldExpiry.make({
      sql,
      queries,
      heartbeat,
      release: (hold) => submitWithoutDeadline(releaseOf(hold)),
    })

    return CreditLedger.of({
      balance: yield* BalanceReader.make(queries),
      open: (hold) => submit(openingOf(hold)),
      settle: (hold, charge, answer) => submit(settlementOf(hold, charge, answer)),
      charge: (hold, charge, answer) => submit(chargeOf(hold, charge, answer)),
      release: (hold) =>
        Effect.async<void>((resume) => releaseSoon(hold, () => resume(Effect.void))),
      grant: (accountId, amount, note) =>
        submitAct(accountId, (books, now) => books.grant(accountId, amount, note, now)),
      correct: (accountId, amount, note) =>
        submitAct(accountId, (books, now) => books.correct(accountId, amount, note, now)),
      budgets: budgetsOf(queries, retried),
      expire: expiry.expire,
      ...LedgerReads.make(queries, retried),
    })
  })

/** Reads budgets and their uses, without a lock. */
const budgetsOf = (
  { readBudgets }: Queries,
  retried: RetryAfterDisconnection,
): NonNullable<CreditLedger["Type"]["budgets"]> =>
  Effect.fnUntraced(function* (keys) {
    const now = yield* Clock.currentTimeMillis
    const deadline = yield* Deadline
    const read = readBudgets(keys, [now]).pipe(retried, Failure.orDie)
    const budgets = yield* waitUntil(deadline)(read)
    if (Option.isNone(budgets)) return yield* timeout(false)
    return budgets.value.spentBy(keys, now)
  })

/** Queues a change. Waits for the commit until `commitGraceMs` after the deadline. */
const asker =
  (queue: GroupCommit.Queue<LedgerCommit.Command>, releaseSoon: (hold: Hold) => void) =>
  <A, E>(
    change: Change<A, E>,
    callback: (exit: Exit.Exit<A, E | StoreTimeout>) => void,
    deadline: number,
  ) => {
    let answer: Exit.Exit<A, E> = notApplied
    const { accountId, apiKeyId, by, charges, endsHoldOf, keyedHold, opens } = change
    const apply = (books: Books, now: number) => {
      answer = exitOf(() => change.apply(books, now))
    }
    const onCommit = (exit: Exit.Exit<void, GroupCommit.GivenUp>) => {
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
    }
    const command = { accountId, apiKeyId, by, endsHoldOf, keyedHold, apply }
    queue.submit(command, onCommit, deadline + commitGraceMs)
  }

/** A defect must fail only its own command, not the other commands in the commit. */
const exitOf = <A, E>(apply: () => Either.Either<A, E>): Exit.Exit<A, E> => {
  try {
    return Exit.fromEither(apply())
  } catch (defect) {
    return Exit.die(defect)
  }
}

const isTimeout = (error: unknown): error is StoreTimeout => error instanceof StoreTimeout

const timeout = (mayCharge: boolean) => new StoreTimeout({ mayCharge })

const none = {
  by: undefined,
  apiKeyId: undefined,
  endsHoldOf: undefined,
  keyedHold: undefined,
  charges: false,
}

const changeOf = (hold: Hold) => ({
  ...none,
  accountId: hold.accountId,
  apiKeyId: hold.apiKeyId,
  keyedHold: hold.idempotencyKey === undefined ? undefined : hold,
})

const openingOf = (hold: Hold): Change<Option.Option<string>, Refusal> => ({
  ...changeOf(hold),
  opens: hold,
  apply: (books, now) => books.open(hold, now),
})

const settlementOf = (
  hold: Hold,
  charge: Charge,
  answer: string | undefined,
): Change<void, HoldExpired> => ({
  ...changeOf(hold),
  endsHoldOf: hold.requestId,
  charges: charge.amount > 0,
  apply: (books, now) => books.settle(hold, charge, answer, now),
})

const chargeOf = (
  hold: Hold,
  charge: Charge,
  answer: string | undefined,
): Change<Option.Option<string>, Refusal> => ({
  ...changeOf(hold),
  charges: charge.amount > 0,
  apply: (books, now) => books.charge(hold, charge, answer, now),
})

const releaseOf = (hold: Hold): Change<boolean, never> => ({
  ...changeOf(hold),
  endsHoldOf: hold.requestId,
  apply: (books) => books.release(hold),
})
