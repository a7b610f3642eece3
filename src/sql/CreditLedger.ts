/**
 * The ledger in SQL. The commands of concurrent requests go through one transaction, which locks
 * the accounts concerned, applies the rules of `Books` in memory and writes what changed: a
 * handful of statements, however many the commands.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AccountId } from "../Account.ts"
import * as Audit from "../Audit.ts"
import * as Balance from "../Balance.ts"
import { Books } from "../Books.ts"
import { CreditLedger, type Hold } from "../CreditLedger.ts"
import { Credits, LedgerEntry } from "../LedgerEntry.ts"
import type { Claim } from "../Receipts.ts"
import { RequestId } from "../RequestId.ts"
import * as Span from "../Span.ts"
import { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"
import * as GroupCommit from "./GroupCommit.ts"
import * as Receipts from "./Receipts.ts"
import { execute, inserter, isAmong } from "./rows.ts"

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

    const enqueue = yield* GroupCommit.make(commit)

    /** Who asks in the same turn shares a query, as who changes something shares a commit. */
    const read = yield* GroupCommit.make((readers: ReadonlyArray<Reader>) =>
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
      return enqueue({ ...command, apply }, () => answer)
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

    /** An entry that was tampered with may be none that can be read. */
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
          return read({ accountId, answer }, () => Effect.succeed(balance))
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

const BalanceRow = Schema.Struct({ accountId: AccountId, ...Balance.Balance.fields })
const decodeBalances = Schema.decodeUnknown(Schema.Array(BalanceRow))
const HoldRow = Schema.Struct({ requestId: RequestId, accountId: AccountId, amount: Credits })
const BooksRow = Schema.Struct({
  ...BalanceRow.fields,
  openHolds: Schema.Int,
  lastEntry: Schema.Int,
})
const EntryRow = Schema.Struct(
  { sequence: Schema.Int },
  { key: Schema.String, value: Schema.Unknown },
)
const EntriesAfter = Schema.Struct({ account: AccountId, after: Schema.Int })

const decodeEntry = Schema.decodeUnknownEither(LedgerEntry)
const readEntry = (row: typeof EntryRow.Type): Audit.ReadEntry =>
  Either.mapLeft(decodeEntry(row), () => `entry ${row.sequence} cannot be read`)

const exists = Effect.map((rows: ReadonlyArray<unknown>) => rows.length > 0)

const pageSize = 1000
const nextPage = <A>(page: ReadonlyArray<A>): Option.Option<A> =>
  page.length < pageSize ? Option.none() : Option.fromNullable(page.at(-1))

/** Adds entries as they are. */
export const entryInserter = (sql: SqlClient.SqlClient) => {
  const insert = inserter(sql, {
    table: "entries",
    columns: {
      account_id: "TEXT",
      sequence: "BIGINT",
      kind: "TEXT",
      amount: "BIGINT",
      balance_after: "BIGINT",
      request_id: "TEXT",
      urls: "BIGINT",
      note: "TEXT",
      at: "BIGINT",
      hash: "TEXT",
    },
  })
  return (entries: ReadonlyArray<LedgerEntry>) =>
    insert(
      entries.map((entry) => [
        entry.accountId,
        entry.sequence,
        entry.kind,
        entry.amount,
        entry.balanceAfter,
        entry.requestId,
        entry.urls,
        entry.note,
        entry.at,
        entry.hash,
      ]),
    )
}

const makeQueries = (sql: SqlClient.SqlClient) => {
  const balanceColumns = sql.literal(
    `account_id AS "accountId", granted, charged, held, entries, head`,
  )
  const holdColumns = sql.literal("request_id, account_id, amount")
  const entryColumns = sql.literal(
    "account_id, sequence, kind, amount, balance_after, request_id, urls, note, at, hash",
  )
  const insertHolds = inserter(sql, {
    table: "holds",
    columns: { request_id: "TEXT", account_id: "TEXT", amount: "BIGINT", expires_at: "BIGINT" },
  })
  const insertEntries = entryInserter(sql)
  const putBalances = inserter(sql, {
    table: "balances",
    columns: {
      account_id: "TEXT",
      granted: "BIGINT",
      charged: "BIGINT",
      held: "BIGINT",
      entries: "BIGINT",
      head: "TEXT",
    },
    onConflict: `ON CONFLICT (account_id) DO UPDATE SET
      granted = excluded.granted, charged = excluded.charged, held = excluded.held,
      entries = excluded.entries, head = excluded.head`,
  })
  const forUpdate = sql.onDialectOrElse({
    pg: () => sql.literal("FOR UPDATE"),
    // An immediate transaction has the whole file to itself.
    orElse: () => sql.literal(""),
  })
  /** In one order everywhere, so that two processes never wait for each other in a circle. */
  const [lockBalances] = sql`
    SELECT ${balanceColumns} FROM balances WHERE account_id ${isAmong(sql, [])}
    ORDER BY account_id ${forUpdate}`.compile()
  return {
    lockBalances: (accounts: ReadonlyArray<AccountId>) =>
      Effect.flatMap(execute(sql, lockBalances, [JSON.stringify(accounts)]), decodeBalances),

    openHolds: SqlSchema.findAll({
      Request: Schema.Array(RequestId),
      Result: HoldRow,
      execute: (ids) => sql`SELECT ${holdColumns} FROM holds WHERE request_id ${isAmong(sql, ids)}`,
    }),

    expiredHolds: SqlSchema.findAll({
      Request: Schema.Int,
      Result: HoldRow,
      execute: (now) => sql`
        SELECT ${holdColumns} FROM holds WHERE expires_at <= ${now} LIMIT ${pageSize}`,
    }),

    balances: SqlSchema.findAll({
      Request: Schema.Array(AccountId),
      Result: BalanceRow,
      execute: (accounts) =>
        sql`SELECT ${balanceColumns} FROM balances WHERE account_id ${isAmong(sql, accounts)}`,
    }),

    /**
     * One statement, so that balance, holds and last entry are of one moment. It goes through the
     * holds once, for they have no index by account, which every request would pay for.
     */
    booksAfter: SqlSchema.findAll({
      Request: Schema.String,
      Result: BooksRow,
      execute: (account) => sql`
        SELECT a.id AS account_id, COALESCE(b.granted, 0) AS granted,
          COALESCE(b.charged, 0) AS charged, COALESCE(b.held, 0) AS held,
          COALESCE(b.entries, 0) AS entries, COALESCE(b.head, '') AS head,
          CAST(COALESCE(h.amount, 0) AS BIGINT) AS open_holds,
          COALESCE((SELECT MAX(e.sequence) FROM entries e WHERE e.account_id = a.id), 0)
            AS last_entry
        FROM accounts a LEFT JOIN balances b ON b.account_id = a.id
        LEFT JOIN (SELECT account_id, SUM(amount) AS amount FROM holds GROUP BY account_id) h
          ON h.account_id = a.id
        WHERE a.id > ${account} ORDER BY a.id LIMIT ${pageSize}`,
    }),

    entriesAfter: SqlSchema.findAll({
      Request: EntriesAfter,
      Result: EntryRow,
      execute: ({ account, after }) => sql`
        SELECT ${entryColumns} FROM entries WHERE account_id = ${account} AND sequence > ${after}
        ORDER BY sequence LIMIT ${pageSize}`,
    }),

    /**
     * Whether the transaction that wrote these books stands. It does so as a whole, so that one
     * trace of it tells: the hash of an entry is like no other, and neither is a request's hold.
     */
    isWritten: ({ endedHolds: [ended], newEntries: [entry], openedHolds: [opened] }: Books) =>
      entry !== undefined
        ? exists(sql`
            SELECT 1 FROM entries WHERE account_id = ${entry.accountId}
            AND sequence = ${entry.sequence} AND hash = ${entry.hash}`)
        : opened !== undefined
          ? exists(sql`SELECT 1 FROM holds WHERE request_id = ${opened.requestId}`)
          : ended !== undefined
            ? Effect.map(
                exists(sql`SELECT 1 FROM holds WHERE request_id = ${ended}`),
                (isOpen) => !isOpen,
              )
            : Effect.succeed(false),

    write: Effect.fnUntraced(function* (books: Books, expiresAt: number) {
      const { changed, endedHolds, newEntries, openedHolds } = books
      if (endedHolds.length > 0) {
        yield* sql`DELETE FROM holds WHERE request_id ${isAmong(sql, endedHolds)}`
      }
      yield* insertHolds(
        openedHolds.map((hold) => [hold.requestId, hold.accountId, hold.amount, expiresAt]),
      )
      yield* insertEntries(newEntries)
      yield* putBalances(
        Array.from(changed, (accountId) => {
          const { charged, entries, granted, head, held } = books.balance(accountId)
          return [accountId, granted, charged, held, entries, head]
        }),
      )
    }),
  }
}
