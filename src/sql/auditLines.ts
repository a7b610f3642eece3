/** Appends lines to the audit log, in the transaction of the changes that they record. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Act, Actor, CurrentRequest } from "../AuditLog.ts"
import * as AuditLine from "../ledger/AuditLine.ts"
import { inserter, type Table } from "./bulkRows.ts"
import { forUpdate } from "./transaction.ts"

/** A change of a row of `accounts` or `api_keys`. The line has the row as it is after the change. */
export interface Change {
  readonly action: string
  readonly table: "accounts" | "api_keys"
  readonly id: string
  /** The columns in camelCase that were changed; null when the row was made. */
  readonly changed: ReadonlyArray<string> | null
  readonly detail: AuditLine.Detail
}

/** Credits that were granted; negative for a correction. */
export interface Grant {
  readonly action: string
  readonly account: string
  readonly granted: number
  readonly detail: AuditLine.Detail
  readonly at: number
}

const lines: Table<AuditLine.Encoded> = {
  name: "audit_log",
  columns: {
    sequence: ["BIGINT", (line) => line.sequence],
    at: ["BIGINT", (line) => line.at],
    actor: ["TEXT", (line) => line.actor],
    action: ["TEXT", (line) => line.action],
    subject: ["TEXT", (line) => line.subject],
    detail: ["TEXT", (line) => line.detail],
    row_table: ["TEXT", (line) => line.rowTable],
    row_id: ["TEXT", (line) => line.rowId],
    state: ["TEXT", (line) => line.state],
    granted: ["BIGINT", (line) => line.granted],
    hash: ["TEXT", (line) => line.hash],
  },
}

export const lineColumns = Object.keys(lines.columns).join(", ")

/** Uses of a key are no changes of the key. */
const unaudited = new Set(["lastUsedAt"])

/** The columns of a row `t`. A key has its budget, whose row has other keys too. */
export const rowColumns = {
  accounts: "t.*",
  api_keys:
    "t.*, (SELECT b.credits || '/' || b.period FROM budgets b WHERE b.id = t.budget_id) AS budget",
}

/** The columns of a row as a line records them. */
export const stateOf = (row: Readonly<Record<string, unknown>>): AuditLine.RowState["row"] =>
  Object.fromEntries(
    Object.entries(row).flatMap(([column, value]) =>
      value === null || value === undefined || unaudited.has(column)
        ? []
        : [[column, String(value)] as const],
    ),
  )

const AnyRow = Schema.Record({ key: Schema.String, value: Schema.Unknown })

const none = { rowTable: null, rowId: null, state: null, granted: null }

/**
 * Makes the functions that append lines. Each locks the log's head until the transaction ends, so
 * a transaction calls them after its other locks, which prevents deadlocks.
 */
export const makeLines = (sql: SqlClient.SqlClient) => {
  const insert = inserter(sql, lines)
  // A missing head is bad data, which fails this change and no other change in the same commit.
  const lockHead = Effect.flatMap(
    sql`SELECT entries, head FROM audit_head WHERE id = 1 ${forUpdate(sql)}`,
    Schema.decodeUnknown(Schema.Tuple(AuditLine.LogHead)),
  )
  const row = makeRow(sql)

  const append = Effect.fnUntraced(function* (
    unsealed: Omit<AuditLine.Unsealed, "at" | "actor"> & { readonly at?: number },
  ) {
    const [log] = yield* lockHead
    const actor = yield* Actor
    const now = yield* Clock.currentTimeMillis
    const [{ entries, head }, line] = AuditLine.seal(log, { at: now, ...unsealed, actor })
    yield* insert([line])
    const request = yield* CurrentRequest
    if (request !== undefined) {
      const { action, rowId } = unsealed
      const { fingerprint, key: requestKey } = request
      // A second act under the key fails here, so that its change is rolled back.
      yield* sql`INSERT INTO act_requests ${sql.insert({ requestKey, action, fingerprint, rowId })}`
    }
    yield* sql`UPDATE audit_head SET entries = ${entries}, head = ${head} WHERE id = 1`
  })

  return {
    /** Appends a line for an act that changes no account, key or balance. */
    appendAct: (act: Act) => append({ ...none, ...act }),

    appendChange: ({ action, changed, detail, id, table }: Change) =>
      Effect.gen(function* () {
        const state = yield* row(table, id)
        const account =
          table === "accounts" ? state : yield* row("accounts", state["accountId"] ?? "")
        const name = account["name"] ?? id
        yield* append({
          ...none,
          action,
          subject: table === "accounts" ? name : id,
          detail: table === "accounts" ? detail : { account: name, ...detail },
          rowTable: table,
          rowId: id,
          state: { changed, row: state },
        })
      }),

    appendGrant: ({ account, ...grant }: Grant) =>
      Effect.flatMap(row("accounts", account), ({ name = account }) =>
        append({ ...none, ...grant, subject: name, rowTable: "accounts", rowId: account }),
      ),
  }
}

/** Returns a function that reads a row; a missing row has no columns. */
const makeRow = (sql: SqlClient.SqlClient) => {
  const rowOf = SqlSchema.findOne({
    Request: Schema.Struct({ table: Schema.Literal("accounts", "api_keys"), id: Schema.String }),
    Result: AnyRow,
    execute: ({ id, table }) => sql`
      SELECT ${sql.literal(rowColumns[table])} FROM ${sql.literal(table)} t WHERE t.id = ${id}`,
  })
  return (table: Change["table"], id: string) =>
    Effect.map(rowOf({ table, id }), (found) =>
      stateOf(Option.getOrElse(found, (): typeof AnyRow.Type => ({}))),
    )
}

/** What the log knows nothing of, because it was there before the log began. */
export const Unlogged = Schema.Struct({
  /** Accounts and keys without a line of their creation. */
  accounts: Schema.Int,
  keys: Schema.Int,
  /** Credits that these accounts got without a line, as text: the sum may be above 2^53. */
  granted: Schema.String,
})
export type Unlogged = typeof Unlogged.Type

/** An SQL condition: the log has no line of the creation of the row. */
const isUnlogged = (table: Change["table"], id: string) => `NOT EXISTS (
  SELECT 1 FROM audit_log c WHERE c.row_table = '${table}' AND c.row_id = ${id}
    AND c.action = '${table === "accounts" ? "account.create" : "key.create"}')`

const grantedByLines = `COALESCE((
  SELECT SUM(g.granted) FROM audit_log g
  WHERE g.row_table = 'accounts' AND g.row_id = b.account_id), 0)`

/** Counts what has no line. */
export const unlogged = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(
    sql.unsafe(`
      SELECT
        (SELECT COUNT(*) FROM accounts a WHERE ${isUnlogged("accounts", "a.id")}) AS accounts,
        (SELECT COUNT(*) FROM api_keys k WHERE ${isUnlogged("api_keys", "k.id")}) AS keys,
        (SELECT CAST(COALESCE(SUM(b.granted - ${grantedByLines}), 0) AS TEXT)
          FROM balances b WHERE ${isUnlogged("accounts", "b.account_id")}) AS granted`),
    Schema.decodeUnknown(Schema.Tuple(Unlogged)),
  )

/** Up to 100 accounts of the log whose granted credits are not what their lines say. */
export const wronglyGranted = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(
    sql.unsafe(`
      SELECT b.account_id, CAST(b.granted AS TEXT) AS granted,
        CAST(${grantedByLines} AS TEXT) AS logged
      FROM balances b
      WHERE b.granted <> ${grantedByLines} AND NOT ${isUnlogged("accounts", "b.account_id")}
      ORDER BY b.account_id LIMIT 100`),
    Schema.decodeUnknown(
      Schema.Array(
        Schema.Struct({
          accountId: Schema.String,
          granted: Schema.String,
          logged: Schema.String,
        }),
      ),
    ),
  )

/** Appends the first line, which says what there was before it. */
export const beginLog = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(unlogged(sql), ([detail]) =>
    makeLines(sql).appendAct({ action: "log.begin", subject: "the audit log", detail }),
  )
