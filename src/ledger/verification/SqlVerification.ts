/** The SQL of `credits verify`: reads the books for the audit, and the heads of the accounts. */
import { createHash } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AccountId } from "../../accounts/Account.ts"
import * as Failure from "../../database/Failure.ts"
import { pageSize, rowsAfter } from "../../database/rows/paging.ts"
import * as Audit from "./Audit.ts"
import { entriesOf } from "../SqlStatements.ts"

/** Audits the books of every account, and looks for requests that were charged twice. */
export const make = (sql: SqlClient.SqlClient): Effect.Effect<Audit.Verification> => {
  const entries = entriesOf(sql)
  const audited = rowsAfter("", makeBooksAfter(sql), ({ accountId }) => accountId).pipe(
    Stream.runFoldEffect(
      { accounts: 0, entries: 0, problems: [] },
      (sum: Audit.Verification, books) =>
        // Ignores entries that were added after the balance was read.
        Effect.map(
          Audit.problemsOf(books, Stream.take(entries(books.accountId), books.lastEntry)),
          (problems) =>
            Audit.withProblems(
              { ...sum, accounts: sum.accounts + 1, entries: sum.entries + books.lastEntry },
              problems,
            ),
        ),
    ),
  )
  return Effect.zipWith(audited, Failure.orDie(chargedTwice(sql)), Audit.withProblems)
}

// The numbers are unlimited here, so that the audit can name the account that has a wrong one.
const BooksRow = Schema.Struct({
  accountId: AccountId,
  granted: Schema.Number,
  charged: Schema.Number,
  held: Schema.Number,
  entries: Schema.Number,
  head: Schema.String,
  openHolds: Schema.Number,
  lastEntry: Schema.Number,
})

/**
 * Reads balances, holds and last entries in one statement, so that all belong to the same moment.
 * It scans all holds, because an index of holds by account would slow down every request.
 */
const makeBooksAfter = (sql: SqlClient.SqlClient) =>
  SqlSchema.findAll({
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
  })

const chargedTwice = (sql: SqlClient.SqlClient) =>
  sql<{ readonly problem: string }>`
    SELECT 'the request ' || request_id || ' is charged more than once' AS problem
    FROM entries WHERE request_id IS NOT NULL GROUP BY request_id HAVING COUNT(*) > 1
    ORDER BY request_id LIMIT ${Audit.maxProblems}`.pipe(
    Effect.map((rows) => rows.map(({ problem }) => problem)),
  )

/**
 * The head of an account: the number of its entries and the hash of the last one. A copy kept
 * elsewhere can later prove that no entry up to the head has changed.
 */
export const Head = Schema.Struct({
  accountId: AccountId,
  entries: Schema.Int,
  head: Schema.String,
})
export type Head = typeof Head.Type

/** A head as a line of text: the account's id, the number of entries and the hash. */
export const Line = Schema.split(" ").pipe(
  Schema.compose(
    Schema.Tuple(
      AccountId.pipe(Schema.minLength(1)),
      Schema.NumberFromString.pipe(Schema.compose(Schema.Int), Schema.positive()),
      Schema.String.pipe(Schema.pattern(/^[0-9a-f]{64}$/)),
    ),
  ),
)

export const lineOf = ({ accountId, entries, head }: Head) => `${accountId} ${entries} ${head}`

/** Counts the accounts and computes the SHA-256 of their lines, each ending in a line feed. */
export const digest = <E, R>(heads: Stream.Stream<Head, E, R>) =>
  Effect.suspend(() => {
    const hash = createHash("sha256")
    return Stream.runFold(heads, 0, (accounts, head) => {
      hash.update(`${lineOf(head)}\n`)
      return accounts + 1
    }).pipe(Effect.map((accounts) => ({ accounts, digest: hash.digest("hex") })))
  })

/** Streams the heads of all accounts that have entries, in the order of their ids. */
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
 * Returns why the books do not continue a checkpoint's line; undefined when they do. Proves only
 * together with a correct hash chain that all entries up to the head are unchanged.
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
        onNone: () => `account ${accountId}: entry ${entries} of the checkpoint is missing`,
        onSome: ({ hash }) =>
          hash === head
            ? undefined
            : `account ${accountId}: entry ${entries} differs from the checkpoint, so the entry or one before it was replaced`,
      }),
    ),
  )
