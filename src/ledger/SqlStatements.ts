/**
 * The SQL statements of a commit and of the ledger's reads: balances, holds, idempotency keys and
 * entries. A commit first locks the balances of its accounts, so that no other process can change
 * rows of these accounts until it ends.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AccountId } from "../accounts/Account.ts"
import { ApiKeyId } from "../accounts/ApiKey.ts"
import { RequestId } from "../check/RequestId.ts"
import { StoreFailure } from "../database/StoreFailure.ts"
import * as TypeGuard from "../database/rows/TypeGuard.ts"
import * as BulkRows from "../database/rows/bulkRows.ts"
import { databaseTime } from "../database/rows/dialects.ts"
import { pageSize, rowsAfter } from "../database/rows/paging.ts"
import * as Balance from "./Balance.ts"
import type { Books, KeyRecord, OpenHold } from "./Books.ts"
import { Credits } from "./Credits.ts"
import { type Hold, retentionMs } from "./Hold.ts"
import { LedgerEntry } from "./LedgerEntry.ts"
import * as SqlBudgets from "./budgets/SqlBudgets.ts"
import * as SqlUsage from "./usage/SqlUsage.ts"

export const make = (sql: SqlClient.SqlClient) => ({
  ...makeLocks(sql),
  ...makeExpiry(sql),
  ...makeReads(sql),
  readBudgets: SqlBudgets.makeRead(sql),
  usage: SqlUsage.make(sql),
  write: makeWrite(sql),
  isWritten: makeIsWritten(sql),
})

const LockedRow = Schema.Struct({
  accountId: AccountId,
  ...Balance.Balance.fields,
  budgets: Schema.Int,
  leaseTime: Schema.NullOr(Schema.Int),
})
const HoldRow = Schema.Struct({
  requestId: RequestId,
  accountId: AccountId,
  amount: Credits,
  expiresAt: Schema.Int,
  apiKeyId: Schema.NullOr(ApiKeyId),
  heldAt: Schema.NullOr(Schema.Int),
})
const KeyRow = Schema.Struct({
  accountId: AccountId,
  key: Schema.String,
  fingerprint: Schema.String,
  requestId: RequestId,
  answer: Schema.NullOr(Schema.String),
  expiresAt: Schema.Int,
})

const holdColumns = `request_id AS "requestId", account_id AS "accountId", amount,
  expires_at AS "expiresAt", api_key_id AS "apiKeyId", held_at AS "heldAt"`

/** The reads of a commit, in order. SQLite needs no row locks, because it has only one writer. */
const makeLocks = (sql: SqlClient.SqlClient) => {
  // PostgreSQL's own clock judges leases, because the clocks of the processes differ.
  const { forUpdate, keysForUpdate, leaseTime } = sql.onDialectOrElse({
    pg: () => ({
      forUpdate: "FOR UPDATE",
      keysForUpdate: `COLLATE "C" FOR UPDATE OF receipts`,
      leaseTime: databaseTime(sql),
    }),
    orElse: () => ({ forUpdate: "", keysForUpdate: "", leaseTime: "NULL" }),
  })
  const lockKeys = BulkRows.query(
    sql,
    KeyRow,
    sql`
      SELECT account_id AS "accountId", receipts.key AS "key", fingerprint,
        request_id AS "requestId", body AS answer, expires_at AS "expiresAt"
      FROM receipts JOIN ${BulkRows.rowsOf(sql, [])}
        ON account_id = value->>0 AND receipts.key = value->>1
      ORDER BY account_id, receipts.key ${sql.literal(keysForUpdate)}`,
  )
  return {
    /**
     * Locks the balances of accounts in the order of their ids, which prevents deadlocks.
     * `leaseTime` is the database's time in epoch milliseconds; null on SQLite.
     */
    lockBalances: BulkRows.query(
      sql,
      LockedRow,
      sql`
        SELECT account_id AS "accountId", granted, charged, held, entries, head, budgets,
          ${sql.literal(leaseTime)} AS "leaseTime"
        FROM balances WHERE account_id ${BulkRows.isAmong(sql, [])}
        ORDER BY account_id ${sql.literal(forUpdate)}`,
    ),
    openHolds: BulkRows.query(
      sql,
      HoldRow,
      sql`SELECT ${sql.literal(holdColumns)} FROM holds WHERE request_id ${BulkRows.isAmong(sql, [])}`,
    ),
    /** Locks the idempotency keys of the holds in a fixed order. Every hold must have a key. */
    lockKeys: (holds: ReadonlyArray<Hold>) =>
      lockKeys(holds.map(({ accountId, idempotencyKey }) => [accountId, idempotencyKey?.key])),
  }
}

/** The statements of the sweep. `now` is this process's time in epoch milliseconds. */
const makeExpiry = (sql: SqlClient.SqlClient) => {
  const { leaseTime, skipLocked } = sql.onDialectOrElse({
    pg: () => ({
      leaseTime: () => sql.literal(databaseTime(sql)),
      skipLocked: sql.literal("FOR UPDATE SKIP LOCKED"),
    }),
    orElse: () => ({ leaseTime: (now: number) => sql`${now}`, skipLocked: sql.literal("") }),
  })
  return {
    expiredHolds: SqlSchema.findAll({
      Request: Schema.Int,
      Result: HoldRow,
      execute: (now) => sql`
        SELECT ${sql.literal(holdColumns)} FROM holds
        WHERE expires_at <= ${leaseTime(now)} LIMIT ${pageSize}`,
    }),

    /**
     * Deletes a page of keys whose lease has ended and whose hold is released. Skips locked keys,
     * which a later sweep deletes.
     */
    deleteKeys: (now: number) => sql`
      DELETE FROM receipts WHERE (account_id, key) IN (
        SELECT account_id, key FROM receipts
        WHERE expires_at <= ${leaseTime(now)} AND body IS NULL
          AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.request_id = receipts.request_id)
        LIMIT ${pageSize} ${skipLocked}
      ) RETURNING key`,

    /** Deletes a page of expired stored answers, unless the newest answer lies in the future. */
    deleteAnswers: (now: number) => sql`
      DELETE FROM receipts WHERE (account_id, key) IN (
        SELECT account_id, key FROM receipts
        WHERE expires_at <= ${now} AND body IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM receipts WHERE expires_at > ${now + retentionMs} AND body IS NOT NULL
        ) LIMIT ${pageSize} ${skipLocked}
      ) RETURNING key`,

    /** Deletes a page of the administration's expired idempotency keys. */
    deleteActs: (now: number) => sql`
      DELETE FROM act_requests WHERE (request_key, action) IN (
        SELECT request_key, action FROM act_requests WHERE expires_at <= ${now} LIMIT ${pageSize}
      ) RETURNING request_key`,
  }
}

const decodeTotals = Schema.decodeUnknown(
  Schema.Tuple(Schema.Struct({ held: Credits }, { key: Schema.String, value: Schema.Int })),
)
const EntryRow = Schema.Struct(
  { sequence: Schema.Int },
  { key: Schema.String, value: Schema.Unknown },
)

const decodeEntry = TypeGuard.decoder(LedgerEntry)

/** Decodes an entry, or fails with a message that names it. */
export const readEntry = (row: typeof EntryRow.Type): Either.Either<LedgerEntry, StoreFailure> =>
  Either.mapLeft(
    decodeEntry(row),
    () => new StoreFailure({ message: `entry ${row.sequence} cannot be read` }),
  )

const makeReads = (sql: SqlClient.SqlClient) => ({
  balance: SqlSchema.findOne({
    Request: AccountId,
    Result: Balance.Balance,
    execute: (account) => sql`
        SELECT granted, charged, held, entries, head FROM balances WHERE account_id = ${account}`,
  }),

  entriesBefore: SqlSchema.findAll({
    Request: Schema.Struct({ account: AccountId, before: Schema.Int, limit: Schema.Int }),
    Result: EntryRow,
    execute: ({ account, before, limit }) => sql`
        SELECT ${sql.literal(entryColumns)} FROM entries
        WHERE account_id = ${account} AND sequence < ${before}
        ORDER BY sequence DESC LIMIT ${limit}`,
  }),

  /**
   * Sums the held credits of all accounts, and counts those with less available than each amount.
   */
  totals: (amounts: ReadonlyArray<Credits>) => {
    const below = amounts.map(
      (amount, i) =>
        `, COUNT(CASE WHEN granted - charged - held < ${amount} THEN 1 END) AS below${i}`,
    )
    return Effect.flatMap(
      sql`SELECT CAST(COALESCE(SUM(held), 0) AS BIGINT) AS held${sql.literal(below.join(""))}
          FROM balances`,
      decodeTotals,
    )
  },
})

/** Makes a function that streams an account's entries page by page, oldest first. */
export const entriesOf = (sql: SqlClient.SqlClient) => {
  const entriesAfter = SqlSchema.findAll({
    Request: Schema.Struct({ account: AccountId, after: Schema.Int }),
    Result: EntryRow,
    execute: ({ account, after }) => sql`
      SELECT ${sql.literal(entryColumns)} FROM entries
      WHERE account_id = ${account} AND sequence > ${after} ORDER BY sequence LIMIT ${pageSize}`,
  })
  return (account: AccountId) =>
    rowsAfter(
      0,
      (after) => entriesAfter({ account, after }),
      ({ sequence }) => sequence,
    ).pipe(
      // `mapEffect` would be slow, because it handles single entries.
      Stream.mapChunksEffect((page) =>
        Effect.forEach(page, readEntry).pipe(Effect.map(Chunk.unsafeFromArray)),
      ),
    )
}

const entriesTable: BulkRows.Table<LedgerEntry> = {
  name: "entries",
  texts: ["account_id", "kind", "request_id", "note", "hash", "api_key_id"],
  numbers: ["sequence", "amount", "balance_after", "urls", "at", "held_at"],
}

const entryColumns = [...entriesTable.texts, ...entriesTable.numbers].join(", ")

/** Inserts ledger entries with the hashes that they already have. */
export const entryInserter = (sql: SqlClient.SqlClient) => BulkRows.inserter(sql, entriesTable)

const balancesTable: BulkRows.Table<Balance.Balance & { readonly accountId: AccountId }> = {
  name: "balances",
  texts: ["account_id", "head"],
  numbers: ["granted", "charged", "held", "entries"],
  key: ["account_id"],
}

export const openBalance = (sql: SqlClient.SqlClient, accountId: AccountId) =>
  sql`INSERT INTO balances ${sql.insert({ accountId, ...Balance.empty })}`

const keysTable: BulkRows.Table<KeyRecord> = {
  name: "receipts",
  texts: ["account_id", "key", "fingerprint", "request_id", "body"],
  numbers: ["expires_at"],
  key: ["account_id", "key"],
  rowOf: ({ answer, ...record }) => ({ ...record, body: answer }),
}

const holdsTable: BulkRows.Table<OpenHold> = {
  name: "holds",
  texts: ["request_id", "account_id", "api_key_id"],
  numbers: ["amount", "expires_at", "held_at"],
}

/** Returns a function that writes all changes of the books. */
const makeWrite = (sql: SqlClient.SqlClient) => {
  const endHolds = BulkRows.command(
    sql,
    sql`DELETE FROM holds WHERE request_id ${BulkRows.isAmong(sql, [])}`,
  )
  const deleteKeys = BulkRows.command(
    sql,
    sql`
      DELETE FROM receipts
      WHERE (account_id, key) IN (SELECT value->>0, value->>1 FROM ${BulkRows.rowsOf(sql, [])})`,
  )
  const insertHolds = BulkRows.inserter(sql, holdsTable)
  const insertEntries = entryInserter(sql)
  const putBalances = BulkRows.inserter(sql, balancesTable)
  const putKeys = BulkRows.inserter(sql, keysTable)
  const putUses = SqlBudgets.useInserter(sql)
  const addUsage = BulkRows.inserter(sql, SqlUsage.table)

  return Effect.fnUntraced(function* (books: Books) {
    const { changed, endedHolds, freedKeys, newEntries, openedHolds, writtenKeys } = books
    if (endedHolds.length > 0) yield* endHolds(endedHolds)
    yield* insertHolds([...openedHolds.values()])
    if (freedKeys.length > 0) {
      yield* deleteKeys(freedKeys.map(({ accountId, key }) => [accountId, key]))
    }
    yield* putKeys(writtenKeys)
    yield* insertEntries(newEntries)
    yield* putUses(books.budgets.changedUses)
    yield* addUsage([...books.usage.values()])
    yield* putBalances(
      Array.from(changed, (accountId) => ({ accountId, ...books.balance(accountId) })),
    )
  })
}

/**
 * Looks for one change of these books in the database. Returns true when it is there, which proves
 * that the transaction was committed. Returns false for books that only delete keys, because
 * deleting keys twice is harmless.
 */
const makeIsWritten = (sql: SqlClient.SqlClient) => {
  const exists = Effect.map((rows: ReadonlyArray<unknown>) => rows.length > 0)
  const isOpen = (request: RequestId) =>
    exists(sql`SELECT 1 FROM holds WHERE request_id = ${request}`)
  return Effect.fnUntraced(function* (books: Books) {
    const [entry] = books.newEntries
    if (entry !== undefined) {
      return yield* exists(sql`
        SELECT 1 FROM entries WHERE account_id = ${entry.accountId}
        AND sequence = ${entry.sequence} AND hash = ${entry.hash}`)
    }
    const [opened] = books.openedHolds.keys()
    if (opened !== undefined && (yield* isOpen(opened))) return true
    const [written] = books.writtenKeys
    if (written !== undefined) {
      return yield* exists(sql`
        SELECT 1 FROM receipts WHERE account_id = ${written.accountId} AND key = ${written.key}
        AND request_id = ${written.requestId} AND expires_at = ${written.expiresAt}`)
    }
    const [ended] = books.endedHolds
    return opened === undefined && ended !== undefined && !(yield* isOpen(ended))
  })
}
