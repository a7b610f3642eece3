/** The SQL statements that write the books of the credit ledger. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { AccountId } from "../Account.ts"
import { type Balance, empty } from "./Balance.ts"
import type { Books, KeyRecord, OpenHold } from "./Books.ts"
import type { UseIn } from "./Budgets.ts"
import type { LedgerEntry } from "./LedgerEntry.ts"
import type { DailyUsage } from "./Usage.ts"
import { inserter, isAmong, rowsOf, type Table } from "../sql/bulkRows.ts"
import * as prepared from "../sql/prepared.ts"

const entries: Table<LedgerEntry> = {
  name: "entries",
  columns: {
    account_id: ["TEXT", (entry) => entry.accountId],
    sequence: ["BIGINT", (entry) => entry.sequence],
    kind: ["TEXT", (entry) => entry.kind],
    amount: ["BIGINT", (entry) => entry.amount],
    balance_after: ["BIGINT", (entry) => entry.balanceAfter],
    request_id: ["TEXT", (entry) => entry.requestId],
    urls: ["BIGINT", (entry) => entry.urls],
    note: ["TEXT", (entry) => entry.note],
    at: ["BIGINT", (entry) => entry.at],
    hash: ["TEXT", (entry) => entry.hash],
    api_key_id: ["TEXT", (entry) => entry.apiKeyId ?? null],
    held_at: ["BIGINT", (entry) => entry.heldAt ?? null],
  },
}

export const entryColumns = Object.keys(entries.columns).join(", ")

/** Inserts ledger entries unchanged, with the hashes that they already have. */
export const entryInserter = (sql: SqlClient.SqlClient) => inserter(sql, entries)

const balances: Table<Balance & { readonly accountId: AccountId }> = {
  name: "balances",
  key: ["account_id"],
  columns: {
    account_id: ["TEXT", (balance) => balance.accountId],
    granted: ["BIGINT", (balance) => balance.granted],
    charged: ["BIGINT", (balance) => balance.charged],
    held: ["BIGINT", (balance) => balance.held],
    entries: ["BIGINT", (balance) => balance.entries],
    head: ["TEXT", (balance) => balance.head],
  },
}

/** Opens the books of a new account. */
export const openBalance = (sql: SqlClient.SqlClient, accountId: AccountId) =>
  sql`INSERT INTO balances ${sql.insert({ accountId, ...empty })}`

const receipts: Table<KeyRecord> = {
  name: "receipts",
  key: ["account_id", "key"],
  columns: {
    account_id: ["TEXT", (record) => record.accountId],
    key: ["TEXT", (record) => record.key],
    fingerprint: ["TEXT", (record) => record.fingerprint],
    request_id: ["TEXT", (record) => record.requestId],
    body: ["TEXT", (record) => record.answer],
    expires_at: ["BIGINT", (record) => record.expiresAt],
  },
}

// A commit locks the balances of its accounts, so no other process changes these rows meanwhile.
const usage: Table<DailyUsage> = {
  name: "usage",
  key: ["account_id", "day", "api_key_id"],
  columns: {
    account_id: ["TEXT", (row) => row.accountId],
    day: ["BIGINT", (row) => row.day],
    api_key_id: ["TEXT", (row) => row.apiKeyId ?? ""],
    checks: ["BIGINT", (row) => row.checks],
    credits: ["BIGINT", (row) => row.credits],
    known: ["BIGINT", (row) => row.known],
    invalid_url: ["BIGINT", (row) => row.failed.INVALID_URL],
    provider_error: ["BIGINT", (row) => row.failed.PROVIDER_ERROR],
    server_error: ["BIGINT", (row) => row.failed.SERVER_ERROR],
  },
  changes: Object.fromEntries(
    ["checks", "credits", "known", "invalid_url", "provider_error", "server_error"].map(
      (column) => [column, `usage.${column} + excluded.${column}`],
    ),
  ),
}

/** `owner` is the id of this process, which is stored in each hold that this process opens. */
const holdsOf = (owner: string | null): Table<OpenHold> => ({
  name: "holds",
  columns: {
    request_id: ["TEXT", (hold) => hold.requestId],
    account_id: ["TEXT", (hold) => hold.accountId],
    amount: ["BIGINT", (hold) => hold.amount],
    expires_at: ["BIGINT", (hold) => hold.expiresAt],
    owner: ["TEXT", () => owner],
    api_key_id: ["TEXT", (hold) => hold.apiKeyId ?? null],
    held_at: ["BIGINT", (hold) => hold.heldAt],
  },
})

const budgetUses: Table<UseIn> = {
  name: "budget_uses",
  key: ["budget_id", "start"],
  columns: {
    budget_id: ["TEXT", ({ id }) => id],
    start: ["BIGINT", ({ start }) => start],
    charged: ["BIGINT", ({ use }) => use.charged],
    held: ["BIGINT", ({ use }) => use.held],
    holds: ["BIGINT", ({ use }) => use.holds],
  },
}

/** Returns a function that writes all changes of the books. */
export const makeWrite = (sql: SqlClient.SqlClient, owner: string | null) => {
  const endHolds = prepared.command(
    sql,
    sql`DELETE FROM holds WHERE request_id ${isAmong(sql, [])}`,
  )
  const freeKeys = prepared.command(
    sql,
    sql`
      DELETE FROM receipts
      WHERE (account_id, key) IN (SELECT value->>0, value->>1 FROM ${rowsOf(sql, [])})`,
  )
  const insertHolds = inserter(sql, holdsOf(owner))
  const insertEntries = entryInserter(sql)
  const putBalances = inserter(sql, balances)
  const putKeys = inserter(sql, receipts)
  const putUses = inserter(sql, budgetUses)
  const addUsage = inserter(sql, usage)

  return Effect.fnUntraced(function* (books: Books) {
    const { changed, endedHolds, freedKeys, newEntries, openedHolds, writtenKeys } = books
    if (endedHolds.length > 0) yield* endHolds(endedHolds)
    yield* insertHolds([...openedHolds.values()])
    if (freedKeys.length > 0) {
      yield* freeKeys(freedKeys.map(({ accountId, key }) => [accountId, key]))
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
 * Looks for one change of these books in the database. Returns true when the change is there,
 * so the transaction was committed. After false, the caller repeats the transaction. For books
 * that only delete keys, always returns false, because deleting keys twice is harmless.
 */
export const isWritten = (sql: SqlClient.SqlClient) => (books: Books) => {
  const [entry] = books.newEntries
  if (entry !== undefined) {
    return exists(sql`
      SELECT 1 FROM entries WHERE account_id = ${entry.accountId}
      AND sequence = ${entry.sequence} AND hash = ${entry.hash}`)
  }
  const [written] = books.writtenKeys
  const [opened] = books.openedHolds.keys()
  if (written !== undefined || opened !== undefined) {
    const hasKey =
      written === undefined
        ? no
        : exists(sql`
            SELECT 1 FROM receipts WHERE account_id = ${written.accountId} AND key = ${written.key}
            AND request_id = ${written.requestId} AND expires_at = ${written.expiresAt}`)
    const hasHold =
      opened === undefined ? no : exists(sql`SELECT 1 FROM holds WHERE request_id = ${opened}`)
    // Looks for both, because a process with a wrong clock may have deleted the key as expired.
    return Effect.zipWith(hasKey, hasHold, (key, hold) => key || hold)
  }
  const [ended] = books.endedHolds
  return ended === undefined
    ? no
    : Effect.map(exists(sql`SELECT 1 FROM holds WHERE request_id = ${ended}`), (isOpen) => !isOpen)
}

const no = Effect.succeed(false)

const exists = Effect.map((rows: ReadonlyArray<unknown>) => rows.length > 0)
