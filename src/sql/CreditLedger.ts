/**
 * The ledger in SQL. The commands of concurrent requests go through one transaction, which locks
 * the accounts concerned, applies the rules of `Books` in memory and writes what changed: a
 * handful of statements, however many the commands.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { AccountId } from "../Account.ts"
import * as Audit from "../ledger/Audit.ts"
import * as Balance from "../ledger/Balance.ts"
import { Books } from "../ledger/Books.ts"
import { CreditLedger } from "../CreditLedger.ts"
import type { Hold } from "../ledger/Hold.ts"
import type { Claim } from "../Receipts.ts"
import type { RequestId } from "../RequestId.ts"
import * as Span from "../Span.ts"
import { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { makeQueries, nextPage, readEntry } from "./ledgerQueries.ts"
import * as Receipts from "./Receipts.ts"

/** A hold whose owner is gone goes back to its account after `lease`. */
export const layer = (options: {
  readonly lease: Duration.DurationInput
}): Layer.Layer<CreditLedger, never, SqlClient.SqlClient> =>
  Layer.scoped(CreditLedger, make(Duration.toMillis(options.lease)))

/** One change to one account's books, waiting for its transaction. */
interface Command {
  readonly accountId: AccountId
  /** The open hold that it ends, if it ends one. */
  readonly ends?: RequestId
  /** The claim that it answers, if it answers one. */
  readonly answers?: Claim | undefined
  readonly apply: (books: Books, now: number) => void
}

/** What an attempt wrote of which nobody knows whether it stands. */
interface Former {
  written?: Books
}

const notApplied = Exit.die("the command was not applied")

/** Somebody who wants to know a balance. */
interface Reader {
  readonly accountId: AccountId
  readonly answer: (balance: Balance.Balance) => void
}

const make = (leaseMs: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const queries = makeQueries(sql)
    const { keep: keepReceipts, lockClaims } = Receipts.makeQueries(sql)

    /**
     * A generator function made once, and not for each commit: V8 gives each a hidden class of its own
     * among the old objects, and that keeps whatever the function sees, here the requests, until a
     * major collection.
     */
    const attempt = Effect.fnUntraced(function* (commands: ReadonlyArray<Command>, former: Former) {
      const now = yield* Clock.currentTimeMillis
      const balances = yield* queries.lockBalances([
        ...new Set(commands.map(({ accountId }) => accountId)),
      ])
      // With the accounts locked, for by then the attempt is over on the server too.
      if (former.written !== undefined && (yield* queries.isWritten(former.written))) return
      const ending = commands.flatMap(({ ends }) => (ends === undefined ? [] : [ends]))
      const holds = ending.length === 0 ? [] : yield* queries.openHolds(ending)
      const answering = commands.flatMap(({ answers }) => (answers === undefined ? [] : [answers]))
      const claims = answering.length === 0 ? [] : yield* lockClaims(answering)
      const books = new Books(
        balances.map(({ accountId, ...balance }) => [accountId, balance] as const),
        holds,
        claims,
      )
      for (const command of commands) command.apply(books, now)
      yield* queries.write(books, now + leaseMs)
      if (books.newReceipts.length > 0) yield* keepReceipts(books.newReceipts, now)
      former.written = books
    })

    const commit = (commands: ReadonlyArray<Command>) =>
      attempt(commands, {}).pipe(
        GroupCommit.inTransaction(sql),
        GroupCommit.measured(commands.length),
      )

    const queue = yield* GroupCommit.make(commit)

    /** Who asks in the same turn shares a query, as who changes something shares a commit. */
    const readers = yield* GroupCommit.make((readers: ReadonlyArray<Reader>) =>
      Effect.map(
        Failure.orDie(queries.balances([...new Set(readers.map(({ accountId }) => accountId))])),
        (rows) => {
          const balances = new Map(rows.map(({ accountId, ...balance }) => [accountId, balance]))
          for (const { accountId, answer } of readers) {
            answer(balances.get(accountId) ?? Balance.empty)
          }
        },
      ),
    )

    /** Durable once it returns, and whole: nobody's interruption tears a change from its answer. */
    const submit = <A, E>(
      command: Omit<Command, "apply"> & {
        readonly apply: (books: Books, now: number) => Either.Either<A, E>
      },
    ): Effect.Effect<A, E> => {
      let answer: Exit.Exit<A, E> = notApplied
      const apply = (books: Books, now: number) => {
        try {
          answer = Exit.fromEither(command.apply(books, now))
        } catch (defect) {
          // One command's fault is not its neighbours'.
          answer = Exit.die(defect)
        }
      }
      return GroupCommit.awaited((callback) =>
        queue.submit({ ...command, apply }, (exit) =>
          callback(Exit.isSuccess(exit) ? answer : Exit.failCause(exit.cause)),
        ),
      )
    }

    const expireHold = (hold: Hold) =>
      submit({
        accountId: hold.accountId,
        ends: hold.requestId,
        apply: (books) => books.expire(hold),
      })

    /** Ends what is over; says of each hold whether it was still open by then. */
    const expiredHolds = (now: number): Stream.Stream<boolean> =>
      Stream.paginateChunkEffect(undefined, () =>
        Effect.gen(function* () {
          const page = yield* Failure.orDie(queries.expiredHolds(now))
          const ended = yield* Effect.forEach(page, expireHold, { concurrency: "unbounded" })
          return [Chunk.unsafeFromArray(ended), Option.as(nextPage(page), undefined)]
        }),
      )

    const entriesOf = (account: AccountId): Stream.Stream<Audit.ReadEntry> =>
      Stream.paginateChunkEffect(0, (after) =>
        Effect.map(Failure.orDie(queries.entriesAfter({ account, after })), (page) => [
          Chunk.unsafeFromArray(page.map(readEntry)),
          Option.map(nextPage(page), ({ sequence }) => sequence),
        ]),
      )

    return CreditLedger.of({
      balance: (accountId) =>
        Span.named("CreditLedger.balance", () => {
          let balance = Balance.empty
          const answer = (found: Balance.Balance) => {
            balance = found
          }
          return Effect.map(
            GroupCommit.awaited((callback) => readers.submit({ accountId, answer }, callback)),
            () => balance,
          )
        }),

      hold: (accountId, amount, requestId) =>
        Span.named("CreditLedger.hold", () => {
          const hold: Hold = { accountId, amount, requestId }
          return submit({ accountId, apply: (books) => books.hold(hold) })
        }),

      settle: (hold, charge, receipt) =>
        Span.named("CreditLedger.settle", () =>
          submit({
            accountId: hold.accountId,
            ends: hold.requestId,
            answers: receipt?.claim,
            apply: (books, now) => books.settle(hold, charge, receipt, now),
          }),
        ),

      charge: (hold, charge) =>
        Span.named("CreditLedger.charge", () =>
          submit({
            accountId: hold.accountId,
            apply: (books, now) => books.charge(hold, charge, now),
          }),
        ),

      grant: (accountId, amount, note) =>
        Span.named("CreditLedger.grant", () =>
          submit({
            accountId,
            apply: (books, now) => books.grant(accountId, amount, note, now),
          }),
        ),

      expire: Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Stream.runFold(expiredHolds(now), 0, (count, wasOpen) => count + (wasOpen ? 1 : 0)),
      ).pipe(Effect.withSpan("CreditLedger.expire")),

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
        Stream.mapEffect(({ accountId, lastEntry, openHolds, ...balance }) =>
          Audit.examine({
            accountId,
            balance,
            openHolds,
            lastEntry,
            // Entries added since the balance was read are not its concern.
            entries: Stream.take(entriesOf(accountId), lastEntry),
          }),
        ),
        Audit.summarize,
        Effect.withSpan("CreditLedger.verify"),
      ),
    })
  })
