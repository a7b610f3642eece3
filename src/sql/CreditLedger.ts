/**
 * The credit ledger in SQL. The commands of concurrent requests share one transaction. The
 * transaction locks the accounts and then the idempotency keys, applies the rules of `Books` in
 * memory, and writes the changes. It takes a handful of statements, for any number of commands.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { AccountId } from "../Account.ts"
import * as Audit from "../ledger/Audit.ts"
import * as Balance from "../ledger/Balance.ts"
import { Books, type Refusal } from "../ledger/Books.ts"
import { CreditLedger } from "../CreditLedger.ts"
import { commitGraceMs, Deadline } from "../Deadline.ts"
import type { Charge, Hold } from "../ledger/Hold.ts"
import type { LedgerEntry } from "../ledger/LedgerEntry.ts"
import type { RequestId } from "../RequestId.ts"
import { StoreFailure } from "../StoreFailure.ts"
import { StoreTimeout } from "../StoreTimeout.ts"
import * as Failure from "./Failure.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { Heartbeat } from "./Heartbeat.ts"
import { makeQueries, nextPage, readBooks, readEntry, type Rows } from "./ledgerQueries.ts"
import { retryAfterDisconnection } from "./retry.ts"

/**
 * `lease` is the longest lifetime of a hold, and of its idempotency key without an answer. With a
 * Heartbeat, holds carry their owner, and `expire` ends the holds of processes that are gone.
 */
export const layer = (options: {
  readonly lease: Duration.DurationInput
}): Layer.Layer<CreditLedger, never, SqlClient.SqlClient> =>
  Layer.scoped(CreditLedger, make(Duration.toMillis(options.lease)))

/** One change to one account's books, waiting for its transaction. */
interface Command {
  readonly accountId: AccountId
  /** The request whose open hold the command may end. */
  readonly ends: RequestId | undefined
  /** The hold whose idempotency key the command reads. */
  readonly named: Hold | undefined
  readonly apply: (books: Books, now: number) => void
}

/**
 * A command that returns a result to its caller. `now`: start of the commit, epoch milliseconds.
 */
interface Change<A, E> extends Omit<Command, "apply"> {
  /** Whether the commit may charge. */
  readonly charges: boolean
  /** The hold that the commit leaves open. It is released when the commit fails or is undecided. */
  readonly opens?: Hold
  readonly apply: (books: Books, now: number) => Either.Either<A, E>
}

type Callback<A, E> = (exit: Exit.Exit<A, E>) => void

/**
 * The ledger's method `charge` with a callback instead of an Effect. It calls back once. The
 * callback must not throw. `deadline` is the request's deadline in epoch milliseconds.
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

/** The previous attempt of a commit. After a lost connection it may or may not have succeeded. */
interface Former {
  written?: Books
  /** True once the attempt may have committed, until the next attempt checks whether it did. */
  mayStand: boolean
}

/** A hold that may still be open, because the commit that released it failed. */
interface Unreleased {
  readonly hold: Hold
  /** Epoch milliseconds: by then the lease of the hold is over. */
  readonly until: number
}

const notApplied = Exit.die("the command was not applied")

/** A caller that waits for a balance. */
interface Reader {
  readonly accountId: AccountId
  readonly answer: (balance: Balance.Balance) => void
}

const make = (leaseMs: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const heartbeat = Option.getOrUndefined(yield* Effect.serviceOption(Heartbeat))
    const clock = yield* Effect.clock
    // SQLite runs in this process, so the answer to its COMMIT cannot be lost.
    const answersAreLost = sql.onDialectOrElse({ sqlite: () => false, orElse: () => true })
    const queries = makeQueries(sql, heartbeat?.owner ?? null)
    /** By request. At most as many as requests were in flight when the database failed. */
    const unreleased = new Map<RequestId, Unreleased>()

    /**
     * Runs the commands once. The generator function is created once, not for each commit. V8 keeps
     * the hidden class of a generator function, and the requests that it captures, in the old
     * generation until a major collection.
     */
    const attempt = Effect.fnUntraced(function* (commands: ReadonlyArray<Command>, former: Former) {
      const now = yield* Clock.currentTimeMillis
      const balances = yield* queries.lockBalances([
        ...new Set(commands.map(({ accountId }) => accountId)),
      ])
      // Checked with the accounts locked: then the previous attempt has ended on the server too.
      if (former.written !== undefined && (yield* queries.isWritten(former.written))) return
      former.mayStand = false
      const named = commands.flatMap(({ named }) => named ?? [])
      const keys = named.length === 0 ? [] : yield* queries.lockKeys(named)
      // A repeated request with an idempotency key may already have its hold.
      const owners = keys.flatMap(({ answer, requestId }) => (answer === null ? [requestId] : []))
      const ending = new Set([...commands.flatMap(({ ends }) => ends ?? []), ...owners])
      const holds = ending.size === 0 ? [] : yield* queries.openHolds(ending)
      const books = new Books(
        leaseMs,
        balances.map(({ accountId, ...balance }) => [accountId, balance] as const),
        holds,
        keys,
      )
      for (const command of commands) command.apply(books, now)
      yield* queries.write(books)
      former.written = books
      former.mayStand = answersAreLost
    })

    const commit = (commands: ReadonlyArray<Command>) => {
      const former: Former = { mayStand: false }
      return attempt(commands, former).pipe(
        GroupCommit.inTransaction(sql),
        Effect.catchAllDefect((defect) =>
          former.mayStand && defect instanceof StoreFailure
            ? dieUndecided(defect)
            : Effect.die(defect),
        ),
        GroupCommit.measured(commands.length),
        Effect.zipRight(
          Effect.suspend(() => {
            const { written } = former
            // Counts only writes: a transaction that only reads succeeds on a full disk too.
            if (written !== undefined && written.changed.size > 0) heartbeat?.committed()
            return countCharges(written?.newEntries ?? [])
          }),
        ),
      )
    }

    const queue = yield* GroupCommit.make(commit)

    /** Callers that ask for a balance in the same turn of the event loop share one query. */
    const readers = yield* GroupCommit.make((readers: ReadonlyArray<Reader>) =>
      Effect.map(
        queries
          .balances([...new Set(readers.map(({ accountId }) => accountId))])
          .pipe(retryAfterDisconnection, Failure.orDie),
        (rows) => {
          const balances = new Map(rows.map(({ accountId, ...balance }) => [accountId, balance]))
          for (const { accountId, answer } of readers) {
            answer(balances.get(accountId) ?? Balance.empty)
          }
        },
      ),
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
          // A defect must fail only its own command, not the others in the commit.
          answer = Exit.die(defect)
        }
      }
      const { accountId, charges, ends, named, opens } = change
      queue.submit(
        { accountId, ends, named, apply },
        (exit) => {
          if (Exit.isSuccess(exit)) return callback(answer)
          const isUndecided = Option.contains(Cause.failureOption(exit.cause), "undecided")
          // A commit that never applied the command has written no hold.
          if (opens !== undefined && (isUndecided || answer !== notApplied)) releaseSoon(opens)
          callback(
            charges && Option.exists(Cause.dieOption(exit.cause), mayStand)
              ? Exit.fail(timeout(true))
              : Exit.failCause(Cause.map(exit.cause, () => timeout(charges && isUndecided))),
          )
        },
        deadline + commitGraceMs,
      )
    }

    /** Waits at most until the Deadline of the current request, plus the grace for commits. */
    const submit = <A, E>(change: Change<A, E>): Effect.Effect<A, E | StoreTimeout> =>
      Effect.flatMap(Deadline, (deadline) =>
        GroupCommit.awaited((callback) => ask(change, deadline, callback)),
      )

    /** Waits as long as the commit takes. */
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
          ends: undefined,
          named: namedOf(hold),
          charges: charge.amount > 0,
          apply: (books, now) => books.charge(hold, charge, answer, now),
        },
        deadline,
        callback,
      )

    /** Calls back when the release succeeded or failed. `expire` repeats a failed release. */
    const releaseSoon = (hold: Hold, callback = () => {}) =>
      ask(releaseOf(hold), Number.POSITIVE_INFINITY, (exit) => {
        if (Exit.isFailure(exit)) {
          const until = clock.unsafeCurrentTimeMillis() + leaseMs
          unreleased.set(hold.requestId, { hold, until })
        }
        callback()
      })

    const release = (hold: Hold) => submitWithoutDeadline(releaseOf(hold))

    /** Repeats the releases that failed. Returns how many of the holds were still open. */
    const releaseAgain = (now: number): Effect.Effect<number> => {
      const again = ({ hold, until }: Unreleased) =>
        Effect.map(Effect.exit(release(hold)), (exit) => {
          if (Exit.isSuccess(exit) || until <= now) unreleased.delete(hold.requestId)
          return Exit.isSuccess(exit) && exit.value
        })
      return Effect.map(
        Effect.forEach(unreleased.values(), again, { concurrency: "unbounded" }),
        (wereOpen) => wereOpen.filter((wasOpen) => wasOpen).length,
      )
    }

    /** Ends holds, page by page, and returns how many were still open. */
    const end = (holds: Rows<Hold>): Effect.Effect<number> =>
      Stream.paginateChunkEffect(undefined, () =>
        Effect.gen(function* () {
          const page = yield* Failure.orDie(holds)
          const ended = yield* Effect.forEach(page, release, { concurrency: "unbounded" })
          return [Chunk.unsafeFromArray(ended), Option.as(nextPage(page), undefined)]
        }),
      ).pipe(Stream.runFold(0, (count, wasOpen) => count + (wasOpen ? 1 : 0)))

    const endHoldsOf = (owner: string) =>
      end(
        Effect.map(queries.holdsOf(owner), (rows) =>
          rows.map(({ fingerprint, key, ...hold }) =>
            key === null || fingerprint === null
              ? hold
              : { ...hold, idempotencyKey: { key, fingerprint } },
          ),
        ),
      )

    /** Ends the holds of the processes that are gone, and frees their idempotency keys. */
    const endGone =
      heartbeat === undefined
        ? Effect.succeed(0)
        : Effect.flatMap(Failure.orDie(heartbeat.takeGone), (owners) =>
            Effect.reduce(owners, 0, (count, owner) =>
              Effect.map(endHoldsOf(owner), (ended) => count + ended),
            ),
          )

    const forgetKeys = (now: number): Effect.Effect<void> =>
      queries
        .forgetKeys(now)
        .pipe(
          sql.withTransaction,
          Effect.repeat({ while: (mayBeMore) => mayBeMore }),
          Effect.asVoid,
          Failure.orDie,
        )

    const entriesOf = (account: AccountId): Stream.Stream<Audit.ReadEntry> =>
      Stream.paginateChunkEffect(0, (after) =>
        Effect.map(Failure.orDie(queries.entriesAfter({ account, after })), (page) => [
          Chunk.unsafeFromArray(page.map(readEntry)),
          Option.map(nextPage(page), ({ sequence }) => sequence),
        ]),
      )

    const ledger = CreditLedger.of({
      balance: (accountId) =>
        Effect.suspend(() => {
          let balance = Balance.empty
          const answer = (found: Balance.Balance) => {
            balance = found
          }
          return Deadline.pipe(
            Effect.flatMap((deadline) =>
              GroupCommit.awaited<void, GroupCommit.GivenUp>((callback) =>
                readers.submit({ accountId, answer }, callback, deadline),
              ),
            ),
            Effect.mapBoth({ onSuccess: () => balance, onFailure: () => timeout(false) }),
          )
        }),

      open: (hold) =>
        submit({
          accountId: hold.accountId,
          ends: undefined,
          named: namedOf(hold),
          charges: false,
          opens: hold,
          apply: (books, now) => books.open(hold, now),
        }),

      settle: (hold, charge, answer) =>
        submit({
          accountId: hold.accountId,
          ends: hold.requestId,
          named: namedOf(hold),
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
          ends: undefined,
          named: undefined,
          charges: false,
          apply: (books, now) => books.grant(accountId, amount, note, now),
        }),

      // Keys first: corrupt books of one account fail the releases, but not the expiry of other
      // keys. While the database is unreachable, this one statement fails, and no release is tried.
      expire: Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.zipRight(
          forgetKeys(now),
          Effect.reduce(
            [Effect.suspend(() => releaseAgain(now)), endGone, end(queries.expiredHolds(now))],
            0,
            (count, ending) => Effect.map(ending, (ended) => count + ended),
          ),
        ),
      ),

      statement: (account, { since = -Infinity, until = Infinity }) =>
        entriesOf(account).pipe(
          Stream.mapEffect(
            Either.mapLeft((problem) => new StoreFailure({ message: `${problem} of ${account}` })),
          ),
          Stream.orDie,
          Stream.filter(({ at }) => since <= at && at < until),
        ),

      verify: Stream.paginateChunkEffect("", (after) =>
        Effect.map(Failure.orDie(queries.booksAfter(after)), (page) => [
          Chunk.unsafeFromArray(page),
          Option.map(nextPage(page), ({ accountId }) => accountId),
        ]),
      ).pipe(
        Stream.mapEffect((row) =>
          Either.match(readBooks(row), {
            onLeft: (problem) => Effect.succeed({ entries: 0, problems: [problem] }),
            onRight: ({ accountId, lastEntry, openHolds, ...balance }) =>
              Audit.examine({
                accountId,
                balance,
                openHolds,
                lastEntry,
                // Leaves out entries that were added after the balance was read.
                entries: Stream.take(entriesOf(accountId), lastEntry),
              }),
          }),
        ),
        Audit.summarize,
      ),
    })
    chargers.set(ledger, charger)
    return ledger
  })

const creditsCharged = Metric.counter("authority_credits_charged", {
  description: "credits charged by this process",
  incremental: true,
})

const countCharges = (entries: ReadonlyArray<LedgerEntry>) =>
  Metric.incrementBy(
    creditsCharged,
    entries.reduce((sum, { amount, kind }) => (kind === "charge" ? sum + amount : sum), 0),
  )

const dieUndecided = ({ cause, message }: StoreFailure) => {
  const failure = new StoreFailure({ message, cause, mayStand: true })
  const log = Effect.logError(unknownOutcome, Cause.die(failure))
  return Effect.zipRight(log, Effect.die(failure))
}

const unknownOutcome = "The answer to a commit was lost. The commit may have succeeded."

const mayStand = (defect: unknown) => defect instanceof StoreFailure && defect.mayStand === true

const timeout = (mayCharge: boolean) => new StoreTimeout({ mayCharge })

const releaseOf = (hold: Hold): Change<boolean, never> => ({
  accountId: hold.accountId,
  ends: hold.requestId,
  named: namedOf(hold),
  charges: false,
  apply: (books) => books.release(hold),
})

const namedOf = (hold: Hold) => (hold.idempotencyKey === undefined ? undefined : hold)
