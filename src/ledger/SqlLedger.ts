/** The SQL statements of the credit ledger, and the schemas of their rows. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { AccountId } from "../Account.ts"
import { ApiKeyId } from "../ApiKey.ts"
import type * as Audit from "./Audit.ts"
import * as Balance from "./Balance.ts"
import type { KeyRecord, OpenHold } from "./Books.ts"
import type { Hold } from "./Hold.ts"
import * as Failure from "../sql/Failure.ts"
import { Credits } from "./Credits.ts"
import { LedgerEntry } from "./LedgerEntry.ts"
import { RequestId } from "../RequestId.ts"
import { isAmong, rowsOf } from "../sql/bulkRows.ts"
import { makeReadBudgets } from "./SqlBudgets.ts"
import { entryColumns, isWritten, makeWrite } from "./SqlLedgerWrites.ts"
import { retentionMs } from "./IdempotencyKey.ts"
import { pageSize } from "../sql/paging.ts"
import * as TypeGuard from "../schema/TypeGuard.ts"
import * as prepared from "../sql/prepared.ts"
import { makeUsage } from "./SqlUsage.ts"

const BalanceRow = Schema.Struct({ accountId: AccountId, ...Balance.Balance.fields })
const LockedRow = Schema.Struct({ ...BalanceRow.fields, budgets: Schema.Int })
const HoldRow = Schema.Struct({
  requestId: RequestId,
  accountId: AccountId,
  amount: Credits,
  expiresAt: Schema.Int,
  apiKeyId: Schema.NullOr(ApiKeyId),
  heldAt: Schema.NullOr(Schema.Int),
})
const OwnedHoldRow = Schema.Struct({
  ...HoldRow.fields,
  key: Schema.NullOr(Schema.String),
  fingerprint: Schema.NullOr(Schema.String),
})
export type OwnedHold = typeof OwnedHoldRow.Type
const KeyRow = Schema.Struct({
  accountId: AccountId,
  key: Schema.String,
  fingerprint: Schema.String,
  requestId: RequestId,
  answer: Schema.NullOr(Schema.String),
  expiresAt: Schema.Int,
})
/** How many balances one statement adds up: few, because SQLite blocks the event loop meanwhile. */
const totalsSize = 10_000

/** The columns that are not decoded here are decoded later, so that `verify` can name a bad row. */
const unread = { key: Schema.String, value: Schema.Unknown }
const TotalsRow = Schema.Struct({ last: Schema.NullOr(Schema.String), held: Credits }, unread)
export type TotalsRow = typeof TotalsRow.Type
const BooksRow = Schema.Struct({ accountId: AccountId }, unread)
const EntryRow = Schema.Struct({ sequence: Schema.Int }, unread)
const UnreadHold = Schema.Struct({ accountId: Schema.String, requestId: Schema.String }, unread)
const EntriesAfter = Schema.Struct({ account: AccountId, after: Schema.Int })
const EntriesBefore = Schema.Struct({
  account: AccountId,
  before: Schema.Int,
  limit: Schema.Int,
})

const decodeEntry = TypeGuard.decoder(LedgerEntry)
/** Decodes an entry, or returns the problem as a sentence. */
export const readEntry = (row: typeof EntryRow.Type): Audit.ReadEntry =>
  Either.mapLeft(decodeEntry(row), () => `entry ${row.sequence} cannot be read`)

const decodeBooks = Schema.decodeUnknownEither(
  Schema.Struct({
    ...BalanceRow.fields,
    openHolds: Schema.Int,
    lastEntry: Schema.Int,
  }),
)

/** Decodes the balance, the sum of the open holds and the last entry, or returns the problem. */
export const readBooks = (row: typeof BooksRow.Type) =>
  Either.mapLeft(
    decodeBooks(row),
    (error) =>
      `account ${row.accountId}: its balance cannot be read (${Failure.unreadable(error)})`,
  )

const decodeHold = Schema.decodeUnknownEither(HoldRow)

/** Every hold ends after some minutes. A day leaves room for clocks that differ. */
const longestHoldMs = 24 * 60 * 60 * 1000

/** Returns what is wrong with a hold; undefined when nothing is. `now` is in epoch milliseconds. */
export const problemOfHold = (row: typeof UnreadHold.Type, now: number): string | undefined => {
  const hold = `account ${row.accountId}: the hold of request ${row.requestId}`
  return Either.match(decodeHold(row), {
    onLeft: (error) => `${hold} cannot be read (${Failure.unreadable(error)})`,
    onRight: ({ expiresAt }) =>
      expiresAt - now > longestHoldMs
        ? `${hold} has no end, because its lease ends more than a day from now`
        : undefined,
  })
}

export type Rows<A> = Effect.Effect<ReadonlyArray<A>, SqlError | ParseResult.ParseError>

/**
 * `owner` is the id of this process, which is stored in each hold that this process opens; null
 * when no Heartbeat is used.
 */
export const makeQueries = (sql: SqlClient.SqlClient, owner: string | null) => ({
  ...makeLocks(sql),
  ...makeExpiry(sql),
  ...makeReads(sql),
  ...makeAuditReads(sql),
  readBudgets: makeReadBudgets(sql),
  usage: makeUsage(sql),
  isWritten: isWritten(sql),
  write: makeWrite(sql, owner),
})

export type Queries = ReturnType<typeof makeQueries>

const columnsOf = (sql: SqlClient.SqlClient) => ({
  balance: sql.literal(`account_id AS "accountId", granted, charged, held, entries, head`),
  hold: sql.literal(
    `request_id AS "requestId", account_id AS "accountId", amount, expires_at AS "expiresAt",
      api_key_id AS "apiKeyId", held_at AS "heldAt"`,
  ),
})

/** The reads of a commit. Every commit runs them, so their texts are made only once. */
const makeLocks = (sql: SqlClient.SqlClient) => {
  const columns = columnsOf(sql)
  // SQLite needs no row locks: an immediate transaction locks the whole file against other writers.
  const [forUpdate, keysForUpdate] = sql.onDialectOrElse({
    pg: () => ["FOR UPDATE", `COLLATE "C" FOR UPDATE OF receipts`],
    orElse: () => ["", ""],
  })
  /** Every transaction locks rows in the same order, which prevents deadlocks. */
  const lockBalances = prepared.query(
    sql,
    LockedRow,
    sql`
      SELECT ${columns.balance}, budgets FROM balances WHERE account_id ${isAmong(sql, [])}
      ORDER BY account_id ${sql.literal(forUpdate)}`,
  )
  const openHolds = prepared.query(
    sql,
    HoldRow,
    sql`SELECT ${columns.hold} FROM holds WHERE request_id ${isAmong(sql, [])}`,
  )
  /** Runs after `lockBalances`. Locks the keys in a fixed order, which prevents deadlocks. */
  const lockKeys = prepared.query(
    sql,
    KeyRow,
    sql`
      SELECT account_id AS "accountId", receipts.key AS "key", fingerprint,
        request_id AS "requestId", body AS answer, expires_at AS "expiresAt"
      FROM receipts JOIN ${rowsOf(sql, [])}
        ON account_id = value->>0 AND receipts.key = value->>1
      ORDER BY account_id, receipts.key ${sql.literal(keysForUpdate)}`,
  )
  return {
    lockBalances: (accounts: ReadonlyArray<AccountId>) => lockBalances(accounts),
    openHolds: (requests: Iterable<RequestId>): Rows<OpenHold> => openHolds([...requests]),
    /** Locks and returns the records of the holds' idempotency keys. Every hold must have a key. */
    lockKeys: (holds: ReadonlyArray<Hold>): Rows<KeyRecord> =>
      lockKeys(holds.map(({ accountId, idempotencyKey }) => [accountId, idempotencyKey?.key])),
  }
}

const makeExpiry = (sql: SqlClient.SqlClient) => {
  const columns = columnsOf(sql)
  const skippingLocked = sql.onDialectOrElse({
    pg: () => "FOR UPDATE SKIP LOCKED",
    orElse: () => "",
  })
  return {
    expiredHolds: SqlSchema.findAll({
      Request: Schema.Int,
      Result: HoldRow,
      execute: (now) => sql`
        SELECT ${columns.hold} FROM holds WHERE expires_at <= ${now} LIMIT ${pageSize}`,
    }),

    /**
     * The open holds of a process, with their idempotency keys. The join compares `expires_at`,
     * which has an index in `receipts`, unlike `request_id`. Until a key has an answer, the key and
     * its hold have the same `expires_at`.
     */
    holdsOf: SqlSchema.findAll({
      Request: Schema.String,
      Result: OwnedHoldRow,
      execute: (owner) => sql`
        SELECT h.request_id, h.account_id, h.amount, h.expires_at, h.api_key_id, h.held_at,
          r.key, r.fingerprint
        FROM holds h LEFT JOIN receipts r
          ON r.expires_at = h.expires_at AND r.request_id = h.request_id AND r.body IS NULL
        WHERE h.owner = ${owner} LIMIT ${pageSize}`,
    }),

    /**
     * Deletes a page of expired keys; those with a stored answer only if `andAnswers`, and
     * never while the newest answer is of the future. Skips locked keys, which a later sweep deletes.
     */
    forgetKeys: (now: number, andAnswers: boolean) => sql`
      DELETE FROM receipts WHERE (account_id, key) IN (
        SELECT account_id, key FROM receipts WHERE expires_at <= ${now} AND ${
          andAnswers
            ? sql`NOT EXISTS (
                SELECT 1 FROM receipts
                WHERE expires_at > ${now + retentionMs} AND body IS NOT NULL)`
            : sql`body IS NULL`
        }
        LIMIT ${pageSize} ${sql.literal(skippingLocked)}
      ) RETURNING key`,

    /** Deletes a page of expired keys of the administration. */
    forgetActs: (now: number) => sql`
      DELETE FROM act_requests WHERE (request_key, action) IN (
        SELECT request_key, action FROM act_requests WHERE expires_at <= ${now} LIMIT ${pageSize}
      ) RETURNING request_key`,
  }
}

const makeReads = (sql: SqlClient.SqlClient) => ({
  /**
   * Sums over the next accounts: their held credits, and how many of them have fewer credits
   * available than each amount. `last` is null when no account follows.
   */
  totalsAfter: (after: string, amounts: ReadonlyArray<Credits>) =>
    SqlSchema.single({
      Request: Schema.Void,
      Result: TotalsRow,
      execute: () => sql`
        SELECT CASE WHEN COUNT(*) = ${totalsSize} THEN MAX(account_id) END AS last,
          CAST(COALESCE(SUM(held), 0) AS BIGINT) AS held${sql.literal(
            amounts
              .map(
                (amount, i) => `, COUNT(CASE WHEN available < ${amount} THEN 1 END) AS below${i}`,
              )
              .join(""),
          )}
        FROM (
          SELECT account_id, held, granted - charged - held AS available
          FROM balances WHERE account_id > ${after} ORDER BY account_id LIMIT ${totalsSize}
        ) AS page`,
    })(undefined).pipe(Effect.catchTag("NoSuchElementException", Effect.die)),

  balances: SqlSchema.findAll({
    Request: Schema.Array(AccountId),
    Result: BalanceRow,
    execute: (accounts) =>
      sql`SELECT ${columnsOf(sql).balance} FROM balances WHERE account_id ${isAmong(sql, accounts)}`,
  }),

  entriesBefore: SqlSchema.findAll({
    Request: EntriesBefore,
    Result: EntryRow,
    execute: ({ account, before, limit }) => sql`
        SELECT ${sql.literal(entryColumns)} FROM entries WHERE account_id = ${account} AND sequence < ${before}
        ORDER BY sequence DESC LIMIT ${limit}`,
  }),

  entriesAfter: SqlSchema.findAll({
    Request: EntriesAfter,
    Result: EntryRow,
    execute: ({ account, after }) => sql`
        SELECT ${sql.literal(entryColumns)} FROM entries WHERE account_id = ${account} AND sequence > ${after}
        ORDER BY sequence LIMIT ${pageSize}`,
  }),
})

/** Reads for `verify`. */
const makeAuditReads = (sql: SqlClient.SqlClient) => ({
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
    Result: UnreadHold,
    execute: (request) => sql`
        SELECT ${columnsOf(sql).hold} FROM holds WHERE request_id > ${request}
        ORDER BY request_id LIMIT ${pageSize}`,
  }),
})
