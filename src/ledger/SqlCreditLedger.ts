/**
 * The credit ledger in SQL. Each method that changes the ledger makes a `Change`. `GroupCommit`
 * gathers the changes of concurrent requests, and `commit` applies them in one transaction: it
 * locks the accounts and idempotency keys, applies the changes to `Books`, and writes the result.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Option from "effect/Option"
import type { ParseError } from "effect/ParseResult"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { AccountId } from "../accounts/Account.ts"
import { Actor, CurrentAct } from "../accounts/AuditLog.ts"
import { commitGraceMs, remainingMs } from "../check/Deadline.ts"
import { StoreFailure } from "../database/StoreFailure.ts"
import { makeNameOf } from "../accounts/SqlAccounts.ts"
import { makeRecorded } from "../accounts/SqlAuditLog.ts"
import * as Failure from "../database/Failure.ts"
import { pageSize, sweep } from "../database/rows/paging.ts"
import { makeRetryAfterDisconnection, ReconnectLimit } from "../database/retry.ts"
import * as MonotonicClock from "../check/MonotonicClock.ts"
import * as Balance from "./Balance.ts"
import { Books } from "./Books.ts"
import { CreditLedger } from "./CreditLedger.ts"
import * as GroupCommit from "./GroupCommit.ts"
import type { Hold } from "./Hold.ts"
import type { LedgerEntry } from "./LedgerEntry.ts"
import * as SqlStatements from "./SqlStatements.ts"
import * as SqlVerification from "./verification/SqlVerification.ts"
import { inTime, StoreTimeout } from "./StoreTimeout.ts"

export interface Options {
  /** The maximum lifetime of an open hold and of an idempotency key without an answer. */
  readonly lease: Duration.DurationInput
}

export const layer = (options: Options): Layer.Layer<CreditLedger, never, SqlClient.SqlClient> =>
  Layer.scoped(CreditLedger, make(options))

/** A change of one account's books. */
interface Change<Result> {
  readonly accountId: AccountId
  /** The request's hold. The commit reads its stored state, its idempotency key and its budget. */
  readonly hold?: Hold
  /** Who changes the books; absent for a client's request, which the audit log does not record. */
  readonly by?: Context.Context<Actor | CurrentAct>
  /** Changes only `books`. `now` is the time of the attempt, in epoch milliseconds. */
  readonly apply: (books: Books, now: number) => Result
}

const make = (options: Options) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const statements = SqlStatements.make(sql)
    const retried = yield* makeRetryAfterDisconnection
    const { limit } = yield* ReconnectLimit
    const isClosing = yield* Ref.make(false)
    const retriedUntilClosing = yield* Effect.provideService(
      makeRetryAfterDisconnection,
      ReconnectLimit,
      { limit, isOver: Ref.get(isClosing) },
    )
    const leaseMs = Duration.toMillis(options.lease)
    const commits = yield* GroupCommit.make(
      makeCommit(sql, statements, leaseMs, retriedUntilClosing),
    )
    // Runs before the last commits, so that a stop does not wait for an unreachable database.
    yield* Effect.addFinalizer(() => Ref.set(isClosing, true))

    const submitUntil = <A, E>(limitMs: number, change: Change<Either.Either<A, E>>) =>
      commits.submit<A, E>(
        (answer) => ({
          ...change,
          apply: (books, now) => answer(exitOf(() => change.apply(books, now))),
        }),
        limitMs,
      )

    const submit = <A, E extends Tagged>(change: Change<Either.Either<A, E>>) =>
      Effect.catchIf(submitUntil(Number.POSITIVE_INFINITY, change), isGivenUp, Effect.die)

    /**
     * Makes a change for a request, and waits for it until shortly after the request's deadline.
     */
    const submitInTime = <A, E extends Tagged>(
      hold: Hold,
      charges: boolean,
      apply: (books: Books, now: number) => Either.Either<A, E>,
    ) =>
      Effect.flatMap(remainingMs, (ms) =>
        submitUntil(Math.max(0, ms + commitGraceMs), { accountId: hold.accountId, hold, apply }),
      ).pipe(
        Effect.catchAllDefect((defect) =>
          defect instanceof StoreFailure && defect.isUndecided === true
            ? Effect.fail<GroupCommit.GivenUp>("undecided")
            : Effect.die(defect),
        ),
        Effect.catchIf(isGivenUp, (givenUp) => timeout(charges, givenUp)),
      )

    /** Makes a change together with its line in the audit log. */
    const act = <E extends Tagged>(
      accountId: AccountId,
      apply: (books: Books, now: number) => Either.Either<Balance.Balance, E>,
    ) => Effect.flatMap(actorAndAct, (by) => submit({ accountId, by, apply }))

    const end = (hold: Hold) =>
      submit({ accountId: hold.accountId, hold, apply: (books) => books.release(hold) })

    const release = (hold: Hold) => Effect.catchAllCause(end(hold), () => Effect.void)

    /** Releases holds whose lease has expired. Returns how many it released. */
    const endHolds = Effect.fnUntraced(function* (now: number) {
      let ended = 0
      while (true) {
        const page = yield* Failure.orDie(statements.expiredHolds(now))
        const wereOpen = yield* Effect.forEach(page, end, { concurrency: "unbounded" })
        ended += wereOpen.filter((wasOpen) => wasOpen).length
        if (page.length < pageSize) return ended
      }
    })

    const isSteady = MonotonicClock.makeIsWallClockSteady()
    const entriesOf = SqlStatements.entriesOf(sql)

    return CreditLedger.of({
      balance: (account) =>
        statements
          .balance(account)
          .pipe(retried, Failure.orDie, Effect.map(Option.getOrElse(() => Balance.empty)), inTime),

      open: (hold) =>
        submitInTime(hold, false, (books, now) => books.open(hold, now)).pipe(
          // The hold may be committed now or later. The release is committed after it.
          Effect.tapErrorTag("StoreTimeout", () => Effect.forkDaemon(release(hold))),
        ),

      settle: (hold, charge, answer) =>
        submitInTime(hold, charge.amount > 0, (books, now) =>
          books.settle(hold, charge, answer, now),
        ),

      charge: (hold, charge, answer) =>
        submitInTime(hold, charge.amount > 0, (books, now) =>
          books.charge(hold, charge, answer, now),
        ),

      release,

      grant: (accountId, amount, note) =>
        act(accountId, (books, now) => books.grant({ accountId, amount, note, at: now })),

      correct: (accountId, amount, note) =>
        act(accountId, (books, now) => books.correct({ accountId, amount, note, at: now })),

      budgets: Effect.fnUntraced(function* (keys) {
        const now = yield* Clock.currentTimeMillis
        const read = statements.readBudgets(keys, now).pipe(retried, Failure.orDie)
        return (yield* inTime(read)).spentBy(keys, now)
      }),

      expire: Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        // Releasing a hold dies when the books are corrupt. The rest must be swept all the same.
        const ended = yield* Effect.exit(endHolds(now))
        yield* sweep(sql, statements.deleteKeys(now))
        if (yield* isSteady) {
          yield* sweep(sql, statements.deleteAnswers(now))
          yield* sweep(sql, statements.deleteActs(now))
        }
        return yield* ended
      }),

      totals: (amounts) =>
        Failure.orDie(
          Effect.map(statements.totals(amounts), ([{ held, ...below }]) => ({
            held,
            accountsBelow: amounts.map((_, i) => below[`below${i}`] ?? 0),
          })),
        ),

      statement: (account, { since = -Infinity, until = Infinity }) =>
        entriesOf(account).pipe(
          Stream.orDie,
          Stream.filter(({ at }) => since <= at && at < until),
        ),

      recent: (account, { before = Number.MAX_SAFE_INTEGER, limit }) =>
        retried(statements.entriesBefore({ account, before, limit })).pipe(
          Failure.orDie,
          Effect.flatMap(Effect.forEach(SqlStatements.readEntry)),
          Effect.orDie,
        ),

      usage: Effect.fn("CreditLedger.usage")(
        (question) => retried(statements.usage(question)),
        Failure.orDie,
      ),

      verify: SqlVerification.make(sql),
    })
  })

const actorAndAct = Effect.zipWith(Actor, CurrentAct, (actor, act) =>
  Context.make(Actor, actor).pipe(Context.add(CurrentAct, act)),
)

/** Keeps a defect in one change from failing the other changes of the commit. */
const exitOf = <A, E>(apply: () => Either.Either<A, E>): Exit.Exit<A, E> =>
  Either.match(Either.try(apply), { onLeft: Exit.die, onRight: Exit.fromEither })

interface Tagged {
  readonly _tag: string
}

const isGivenUp = (error: unknown): error is GroupCommit.GivenUp => typeof error === "string"

const timeout = (charges: boolean, givenUp: GroupCommit.GivenUp) =>
  Effect.zipRight(
    Effect.logWarning(
      `The database is too slow: a change that nobody waits for ${givenUp === "withdrawn" ? "is never" : "may still be"} committed. Check the database's disk, locks and network.`,
    ),
    new StoreTimeout({ mayCharge: charges && givenUp === "undecided" }),
  )

/** What the next attempt at a commit needs to know about this one. */
interface Attempt {
  /** True when the answer to its COMMIT was lost, so that it may have been committed. */
  readonly isLost: boolean
  readonly books: Books
  readonly answers: ReadonlyArray<GroupCommit.Answer>
}

/** Returns a function that applies changes in one transaction, with few statements. */
const makeCommit = (
  sql: SqlClient.SqlClient,
  statements: ReturnType<typeof SqlStatements.make>,
  leaseMs: number,
  retried: Effect.Effect.Success<typeof makeRetryAfterDisconnection>,
) => {
  const nameOf = makeNameOf(sql)
  const recorded = makeRecorded(sql)

  // Runs once for each attempt. `former` is the previous attempt, if it reached its COMMIT.
  const attempt = Effect.fnUntraced(function* (
    changes: ReadonlyArray<Change<GroupCommit.Answer>>,
    former: Ref.Ref<Attempt | undefined>,
  ) {
    const balances = yield* statements.lockBalances([
      ...new Set(changes.map(({ accountId }) => accountId)),
    ])
    // The locks are free, so the former attempt has ended on the server.
    const before = yield* Ref.get(former)
    if (before !== undefined && (yield* statements.isWritten(before.books))) return before
    yield* Ref.set(former, undefined)

    const requests = changes.flatMap(({ hold }) => hold ?? [])
    const keyed = requests.filter(({ idempotencyKey }) => idempotencyKey !== undefined)
    const keys = keyed.length === 0 ? [] : yield* statements.lockKeys(keyed)
    const holds =
      requests.length === 0
        ? []
        : yield* statements.openHolds([...requests, ...keys].map(({ requestId }) => requestId))
    // Read after the locks, because a budget counts a commit in the period of this time.
    const now = yield* Clock.currentTimeMillis
    const budgets = balances.some((balance) => balance.budgets > 0)
      ? yield* statements.readBudgets(
          [...requests, ...holds].flatMap(({ apiKeyId }) => apiKeyId ?? []),
          Math.min(now, ...holds.map(({ heldAt }) => heldAt ?? now)),
        )
      : undefined
    const books = new Books(
      leaseMs,
      balances.map((balance) => [balance.accountId, balance]),
      holds,
      keys,
      budgets,
      (balances.at(-1)?.leaseTime ?? now) - now,
    )

    const acts: Array<Required<Pick<Change<unknown>, "by">> & { entry: LedgerEntry }> = []
    const answers = changes.map(({ apply, by }) => {
      const { length } = books.newEntries
      const answer = apply(books, now)
      if (by) acts.push(...books.newEntries.slice(length).map((entry) => ({ by, entry })))
      return answer
    })
    let write: Effect.Effect<void, SqlError | ParseError> = statements.write(books)
    for (const { by, entry } of acts) {
      const { accountId, amount, kind, note, sequence } = entry
      const action = kind === "correction" ? "credits.correct" : "credits.grant"
      const detail = { amount, note, entry: sequence }
      write = Effect.provide(recorded(action, yield* nameOf(accountId), detail, write), by)
    }
    yield* write
    const done = { isLost: false, books, answers }
    yield* Ref.set(former, done)
    return done
  })

  return Effect.fnUntraced(function* (changes: ReadonlyArray<Change<GroupCommit.Answer>>) {
    const former = yield* Ref.make<Attempt | undefined>(undefined)
    const [duration, { answers, books }] = yield* attempt(changes, former).pipe(
      sql.withTransaction,
      Effect.tapError((error) =>
        Ref.update(former, (last) =>
          last !== undefined && (last.isLost || Failure.isDisconnection(error))
            ? { ...last, isLost: true }
            : undefined,
        ),
      ),
      retried,
      Effect.catchAll((error) => {
        const failure = Failure.describe(error)
        if (Failure.isBadData(error)) return Effect.fail(failure)
        return Effect.flatMap(Ref.get(former), (last) =>
          last === undefined ? Effect.die(failure) : dieUndecided(failure),
        )
      }),
      Effect.timed,
    )
    yield* Metric.update(commitSize, changes.length)
    yield* Metric.update(commitSeconds, Duration.toSeconds(duration))
    yield* Metric.incrementBy(
      creditsCharged,
      books.newEntries.reduce((sum, { amount, kind }) => sum + (kind === "charge" ? amount : 0), 0),
    )
    return answers
  })
}

const dieUndecided = ({ cause, message }: StoreFailure) => {
  const failure = new StoreFailure({ message, cause, isUndecided: true })
  const log = Effect.logError(
    "The connection to the database broke during a commit, so the commit may have succeeded or failed. To check the ledger, run 'authority credits verify'.",
    Cause.die(failure),
  )
  return Effect.zipRight(log, Effect.die(failure))
}

const commitSize = Metric.histogram(
  "authority_ledger_commit_commands",
  MetricBoundaries.exponential({ start: 1, factor: 2, count: 10 }),
  "number of commands in one commit",
)

const commitSeconds = Metric.histogram(
  "authority_ledger_commit_seconds",
  MetricBoundaries.fromIterable([
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
  ]),
  "duration of a commit, in seconds",
)

const creditsCharged = Metric.counter("authority_credits_charged", {
  description: "credits charged by this process",
  incremental: true,
})
