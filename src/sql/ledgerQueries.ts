/** The SQL statements of the credit ledger, and the schemas of their rows. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { AccountId } from "../Account.ts"
import type * as Audit from "../ledger/Audit.ts"
import * as Balance from "../ledger/Balance.ts"
import type { Books, KeyRecord, OpenHold } from "../ledger/Books.ts"
import type { Hold } from "../ledger/Hold.ts"
import * as TypeGuard from "../schema/TypeGuard.ts"
import * as Failure from "./Failure.ts"
import { Credits } from "../ledger/Credits.ts"
import { LedgerEntry } from "../ledger/LedgerEntry.ts"
import { RequestId } from "../RequestId.ts"
import { inserter, isAmong, rowsOf } from "./bulkRows.ts"
import { pageSize } from "./paging.ts"

const BalanceRow = Schema.Struct({ accountId: AccountId, ...Balance.Balance.fields })
const decodeBalances = TypeGuard.decoder(Schema.Array(BalanceRow))
const HoldRow = Schema.Struct({
  requestId: RequestId,
  accountId: AccountId,
  amount: Credits,
  expiresAt: Schema.Int,
})
const decodeHolds = TypeGuard.decoder(Schema.Array(HoldRow))
const OwnedHoldRow = Schema.Struct({
  ...HoldRow.fields,
  key: Schema.NullOr(Schema.String),
  fingerprint: Schema.NullOr(Schema.String),
})
const KeyRow = Schema.Struct({
  accountId: AccountId,
  key: Schema.String,
  fingerprint: Schema.String,
  requestId: RequestId,
  answer: Schema.NullOr(Schema.String),
  expiresAt: Schema.Int,
})
const decodeKeys = TypeGuard.decoder(Schema.Array(KeyRow))
/**
 * Only `accountId` is decoded here. `readBooks` decodes the other columns of each row, so that one
 * corrupt account does not make the query fail.
 */
const BooksRow = Schema.Struct(
  { accountId: AccountId },
  { key: Schema.String, value: Schema.Unknown },
)
const EntryRow = Schema.Struct(
  { sequence: Schema.Int },
  { key: Schema.String, value: Schema.Unknown },
)
const EntriesAfter = Schema.Struct({ account: AccountId, after: Schema.Int })

const decodeEntry = Schema.decodeUnknownEither(LedgerEntry)
/**
 * Decodes an entry. If the entry was tampered with, decoding can fail. Then this function returns
 * the problem as a sentence.
 */
export const readEntry = (row: typeof EntryRow.Type): Audit.ReadEntry =>
  Either.mapLeft(decodeEntry(row), () => `entry ${row.sequence} cannot be read`)

const decodeBooks = Schema.decodeUnknownEither(
  Schema.Struct({ ...BalanceRow.fields, openHolds: Schema.Int, lastEntry: Schema.Int }),
)

/**
 * Decodes the balance, the sum of the open holds and the last entry of an account. When that
 * fails, returns the problem as a sentence.
 */
export const readBooks = (row: typeof BooksRow.Type) =>
  Either.mapLeft(
    decodeBooks(row),
    (error) =>
      `account ${row.accountId}: its balance cannot be read (${Failure.unreadable(error)})`,
  )

const exists = Effect.map((rows: ReadonlyArray<unknown>) => rows.length > 0)

/**
 * Maximum number of idempotency keys that one transaction deletes: few, so that other transactions
 * do not wait long.
 */
const sweepSize = 1000

const entryColumns = {
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
} as const

/**
 * Returns a function that inserts ledger entries unchanged, with the hashes that they already have.
 */
export const entryInserter = (sql: SqlClient.SqlClient) => {
  const insert = inserter(sql, { table: "entries", columns: entryColumns })
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

export type Rows<A> = Effect.Effect<ReadonlyArray<A>, SqlError | ParseResult.ParseError>

/**
 * `owner` is the id of this process, which is stored in each hold that this process opens; null
 * when no Heartbeat is used.
 */
export const makeQueries = (sql: SqlClient.SqlClient, owner: string | null) => {
  const balanceColumns = sql.literal(
    `account_id AS "accountId", granted, charged, held, entries, head`,
  )
  const holdColumns = sql.literal(
    `request_id AS "requestId", account_id AS "accountId", amount, expires_at AS "expiresAt"`,
  )
  const entryNames = sql.literal(Object.keys(entryColumns).join(", "))
  const insertHolds = inserter(sql, {
    table: "holds",
    columns: {
      request_id: "TEXT",
      account_id: "TEXT",
      amount: "BIGINT",
      expires_at: "BIGINT",
      owner: "TEXT",
    },
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
  const putKeys = inserter(sql, {
    table: "receipts",
    columns: {
      account_id: "TEXT",
      key: "TEXT",
      fingerprint: "TEXT",
      request_id: "TEXT",
      body: "TEXT",
      expires_at: "BIGINT",
    },
    onConflict: `ON CONFLICT (account_id, key) DO UPDATE SET
      fingerprint = excluded.fingerprint, request_id = excluded.request_id,
      body = excluded.body, expires_at = excluded.expires_at`,
  })
  // SQLite needs no row locks: an immediate transaction locks the whole file against other writers.
  const [forUpdate, keysForUpdate, skippingLocked] = sql.onDialectOrElse({
    pg: () => ["FOR UPDATE", `COLLATE "C" FOR UPDATE OF receipts`, "FOR UPDATE SKIP LOCKED"],
    orElse: () => ["", "", ""],
  })
  /** Every transaction locks rows in the same order, which prevents deadlocks. */
  const [lockBalances] = sql`
    SELECT ${balanceColumns} FROM balances WHERE account_id ${isAmong(sql, [])}
    ORDER BY account_id ${sql.literal(forUpdate)}`.compile()
  const [openHolds] = sql`
    SELECT ${holdColumns} FROM holds WHERE request_id ${isAmong(sql, [])}`.compile()
  /** Runs after `lockBalances`. Locks the keys in a fixed order, which prevents deadlocks. */
  const [lockKeys] = sql`
    SELECT account_id AS "accountId", receipts.key AS "key", fingerprint,
      request_id AS "requestId", body AS answer, expires_at AS "expiresAt"
    FROM receipts JOIN ${rowsOf(sql, [])}
      ON account_id = value->>0 AND receipts.key = value->>1
    ORDER BY account_id, receipts.key ${sql.literal(keysForUpdate)}`.compile()
  return {
    lockBalances: (accounts: ReadonlyArray<AccountId>) =>
      Effect.flatMap(sql.unsafe(lockBalances, [JSON.stringify(accounts)]), (rows) =>
        Either.mapLeft(decodeBalances(rows), ParseResult.parseError),
      ),

    openHolds: (requests: Iterable<RequestId>): Rows<OpenHold> =>
      Effect.flatMap(sql.unsafe(openHolds, [JSON.stringify([...requests])]), (rows) =>
        Either.mapLeft(decodeHolds(rows), ParseResult.parseError),
      ),

    /** Locks and returns the records of the holds' idempotency keys. Every hold must have a key. */
    lockKeys: (holds: ReadonlyArray<Hold>): Rows<KeyRecord> => {
      const keys = holds.map(({ accountId, idempotencyKey }) => [accountId, idempotencyKey?.key])
      return Effect.flatMap(sql.unsafe(lockKeys, [JSON.stringify(keys)]), (rows) =>
        Either.mapLeft(decodeKeys(rows), ParseResult.parseError),
      )
    },

    expiredHolds: SqlSchema.findAll({
      Request: Schema.Int,
      Result: HoldRow,
      execute: (now) => sql`
        SELECT ${holdColumns} FROM holds WHERE expires_at <= ${now} LIMIT ${pageSize}`,
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
        SELECT h.request_id, h.account_id, h.amount, h.expires_at, r.key, r.fingerprint
        FROM holds h LEFT JOIN receipts r
          ON r.expires_at = h.expires_at AND r.request_id = h.request_id AND r.body IS NULL
        WHERE h.owner = ${owner} LIMIT ${pageSize}`,
    }),

    /** The sum of the held credits of all accounts. One row. */
    heldByAll: SqlSchema.findAll({
      Request: Schema.Void,
      Result: Schema.Struct({ held: Credits }),
      execute: () => sql`SELECT CAST(COALESCE(SUM(held), 0) AS BIGINT) AS held FROM balances`,
    })(),

    /** The number of accounts that have fewer available credits than an amount. One row. */
    accountsBelow: SqlSchema.findAll({
      Request: Credits,
      Result: Schema.Struct({ accounts: Schema.Int }),
      execute: (amount) =>
        sql`SELECT COUNT(*) AS accounts FROM balances WHERE granted - charged - held < ${amount}`,
    }),

    balances: SqlSchema.findAll({
      Request: Schema.Array(AccountId),
      Result: BalanceRow,
      execute: (accounts) =>
        sql`SELECT ${balanceColumns} FROM balances WHERE account_id ${isAmong(sql, accounts)}`,
    }),

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

    entriesAfter: SqlSchema.findAll({
      Request: EntriesAfter,
      Result: EntryRow,
      execute: ({ account, after }) => sql`
        SELECT ${entryNames} FROM entries WHERE account_id = ${account} AND sequence > ${after}
        ORDER BY sequence LIMIT ${pageSize}`,
    }),

    /**
     * Deletes up to `sweepSize` expired keys. Skips locked keys, which a later sweep deletes.
     * Returns true when there may be more expired keys.
     */
    forgetKeys: (now: number) =>
      Effect.map(
        sql`
          DELETE FROM receipts WHERE (account_id, key) IN (
            SELECT account_id, key FROM receipts WHERE expires_at <= ${now}
            LIMIT ${sweepSize} ${sql.literal(skippingLocked)}
          ) RETURNING key`,
        (forgotten) => forgotten.length === sweepSize,
      ),

    /**
     * Looks for one change of these books in the database. Returns true when the change is there,
     * so the transaction was committed. After false, the caller repeats the transaction. For books
     * that only delete keys, always returns false, because deleting keys twice is harmless.
     */
    isWritten: (books: Books) => {
      const [entry] = books.newEntries
      if (entry !== undefined) {
        return exists(sql`
          SELECT 1 FROM entries WHERE account_id = ${entry.accountId}
          AND sequence = ${entry.sequence} AND hash = ${entry.hash}`)
      }
      const [written] = books.writtenKeys
      if (written !== undefined) {
        return exists(sql`
          SELECT 1 FROM receipts WHERE account_id = ${written.accountId} AND key = ${written.key}
          AND request_id = ${written.requestId} AND expires_at = ${written.expiresAt}`)
      }
      const [opened] = books.openedHolds.keys()
      if (opened !== undefined) {
        return exists(sql`SELECT 1 FROM holds WHERE request_id = ${opened}`)
      }
      const [ended] = books.endedHolds
      return ended === undefined
        ? Effect.succeed(false)
        : Effect.map(
            exists(sql`SELECT 1 FROM holds WHERE request_id = ${ended}`),
            (isOpen) => !isOpen,
          )
    },

    /** Writes all changes of the books. */
    write: Effect.fnUntraced(function* (books: Books) {
      const { changed, endedHolds, freedKeys, newEntries, openedHolds, writtenKeys } = books
      if (endedHolds.length > 0) {
        yield* sql`DELETE FROM holds WHERE request_id ${isAmong(sql, endedHolds)}`
      }
      yield* insertHolds(
        Array.from(openedHolds.values(), (hold) => [
          hold.requestId,
          hold.accountId,
          hold.amount,
          hold.expiresAt,
          owner,
        ]),
      )
      if (freedKeys.length > 0) {
        const rows = freedKeys.map(({ accountId, key }) => [accountId, key])
        yield* sql`
          DELETE FROM receipts
          WHERE (account_id, key) IN (SELECT value->>0, value->>1 FROM ${rowsOf(sql, rows)})`
      }
      yield* putKeys(
        writtenKeys.map((record) => [
          record.accountId,
          record.key,
          record.fingerprint,
          record.requestId,
          record.answer,
          record.expiresAt,
        ]),
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

export type Queries = ReturnType<typeof makeQueries>
