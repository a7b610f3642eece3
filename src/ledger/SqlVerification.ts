/** The SQL of `credits verify`: reads the books for the audit, and the heads of the accounts. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AccountId } from "../Account.ts"
import { databaseTime } from "../sql/databaseTime.ts"
import * as Failure from "../sql/Failure.ts"
import { pageSize, rowsAfter } from "../sql/paging.ts"
import * as Audit from "./Audit.ts"
import * as Balance from "./Balance.ts"
import { Head } from "./Head.ts"
import { entriesOf, holdColumns, HoldRow, undecoded } from "./SqlLedger.ts"

/** Audits the books of every account, and looks for rows that no book has. */
export const make = (sql: SqlClient.SqlClient): Effect.Effect<Audit.Verification> => {
  const queries = makeQueries(sql)
  const entries = entriesOf(sql)

  const audited = rowsAfter("", queries.booksAfter, ({ accountId }) => accountId).pipe(
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
            entries: Stream.take(entries(accountId), lastEntry),
          }),
      }),
    ),
    Audit.summarize,
  )

  const withoutAccount = Effect.forEach(["balances", "entries", "holds"] as const, (table) =>
    Effect.map(Failure.orDie(queries.missingAccounts(table)), (rows) =>
      rows.map(
        ({ accountId }) =>
          `account ${accountId}: the account does not exist, but the table ${table} has rows of it`,
      ),
    ),
  )

  const chargedTwice = Effect.map(Failure.orDie(queries.chargedTwice), (rows) =>
    rows.map(({ requestId }) => `the request ${requestId} is charged more than once`),
  )

  const badHolds = Effect.flatMap(Failure.orDie(queries.leaseTime), (now) =>
    rowsAfter("", queries.holdsAfter, ({ requestId }) => requestId).pipe(
      Stream.filterMap((row) => Option.fromNullable(problemOfHold(row, now))),
      Stream.take(Audit.maxProblems),
      Stream.runCollect,
    ),
  )

  return Effect.gen(function* () {
    const verification = yield* audited
    return Audit.withProblems(verification, [
      ...(yield* withoutAccount).flat(),
      ...(yield* chargedTwice),
      ...(yield* badHolds),
    ])
  })
}

const BooksRow = Schema.Struct({ accountId: AccountId }, undecoded)
const UndecodedHold = Schema.Struct(
  { accountId: Schema.String, requestId: Schema.String },
  undecoded,
)

const decodeBooks = Schema.decodeUnknownEither(
  Schema.Struct({
    accountId: AccountId,
    ...Balance.Balance.fields,
    openHolds: Schema.Int,
    lastEntry: Schema.Int,
  }),
)

/** Decodes the balance, the sum of the open holds and the last entry, or returns the problem. */
const readBooks = (row: typeof BooksRow.Type) =>
  Either.mapLeft(
    decodeBooks(row),
    (error) =>
      `account ${row.accountId}: its balance cannot be read (${Failure.unreadable(error)})`,
  )

const decodeHold = Schema.decodeUnknownEither(HoldRow)

/** Every hold ends after some minutes. A day leaves room for clocks that differ. */
const longestHoldMs = 24 * 60 * 60 * 1000

/** Returns what is wrong with a hold; undefined when nothing is. `now` is in epoch milliseconds. */
const problemOfHold = (row: typeof UndecodedHold.Type, now: number): string | undefined => {
  const hold = `account ${row.accountId}: the hold of request ${row.requestId}`
  return Either.match(decodeHold(row), {
    onLeft: (error) => `${hold} cannot be read (${Failure.unreadable(error)})`,
    onRight: ({ expiresAt }) =>
      expiresAt - now > longestHoldMs
        ? `${hold} has no end, because its lease ends more than a day from now`
        : undefined,
  })
}

const makeQueries = (sql: SqlClient.SqlClient) => ({
  /**
   * One statement reads balances, holds and last entries, so that all belong to the same moment.
   * It scans all holds: an index of holds by account would slow down every request.
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

  /** Up to 100 accounts that do not exist, although this table has rows of them. */
  missingAccounts: (table: "balances" | "entries" | "holds") =>
    SqlSchema.findAll({
      Request: Schema.Void,
      Result: Schema.Struct({ accountId: Schema.String }),
      execute: () => sql`
        SELECT DISTINCT t.account_id FROM ${sql.literal(table)} t
        WHERE NOT EXISTS (SELECT 1 FROM accounts a WHERE a.id = t.account_id)
        ORDER BY t.account_id LIMIT 100`,
    })(),

  /** Up to 100 requests that are charged more than once. */
  chargedTwice: SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ requestId: Schema.String }),
    execute: () => sql`
        SELECT request_id FROM entries WHERE request_id IS NOT NULL
        GROUP BY request_id HAVING COUNT(*) > 1 ORDER BY request_id LIMIT 100`,
  })(),

  holdsAfter: SqlSchema.findAll({
    Request: Schema.String,
    Result: UndecodedHold,
    execute: (request) => sql`
        SELECT ${sql.literal(holdColumns)} FROM holds WHERE request_id > ${request}
        ORDER BY request_id LIMIT ${pageSize}`,
  }),

  /** The time by the clock that judges leases, in epoch milliseconds. */
  leaseTime: sql.onDialectOrElse({
    pg: () =>
      Effect.flatMap(
        sql`SELECT ${sql.literal(databaseTime(sql))} AS time`,
        Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ time: Schema.Int }))),
      ).pipe(Effect.map(([{ time }]) => time)),
    orElse: () => Clock.currentTimeMillis,
  }),
})

/** The heads of all accounts that have entries, in the order of their ids. */
export const heads = Effect.map(SqlClient.SqlClient, (sql) => {
  const after = SqlSchema.findAll({
    Request: Schema.String,
    Result: Head,
    execute: (account) => sql`
      SELECT account_id, entries, head FROM balances
      WHERE entries > 0 AND account_id > ${account} ORDER BY account_id LIMIT ${pageSize}`,
  })
  return rowsAfter("", after, ({ accountId }) => accountId)
}).pipe(Stream.unwrap)

/**
 * Returns why the books do not continue an earlier head; undefined when they do. Only together with
 * a correct hash chain, this proves that all entries up to the head are the same.
 */
export const problemOf = ({ accountId, entries, head }: Head) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    SqlSchema.findOne({
      Request: Schema.Void,
      Result: Schema.Struct({ hash: Schema.String }),
      execute: () =>
        sql`SELECT hash FROM entries WHERE account_id = ${accountId} AND sequence = ${entries}`,
    })(undefined),
  ).pipe(
    Failure.orDie,
    Effect.map(
      Option.match({
        onNone: () => `account ${accountId}: entry ${entries}, an earlier head, is missing`,
        onSome: ({ hash }) =>
          hash === head
            ? undefined
            : `account ${accountId}: entry ${entries} differs from the earlier head, so the entry or one before it was replaced`,
      }),
    ),
  )
