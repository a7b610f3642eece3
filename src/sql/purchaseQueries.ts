/** The SQL statements of the tables `purchases`, `purchase_days` and `vendors`. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { dayOf } from "../ledger/Usage.ts"
import {
  closing,
  type Cost,
  daysOfMonth,
  type MonthRows,
  type Purchase,
  type PurchaseDay,
  sumsOf,
} from "../Purchases.ts"
import { inserter, isAmong, rowsOf, type Table } from "./bulkRows.ts"
import { pageSize } from "./paging.ts"
import * as prepared from "./prepared.ts"
import { forUpdate } from "./transaction.ts"

export type Queries = ReturnType<typeof makeQueries>

export const makeQueries = (sql: SqlClient.SqlClient) => {
  const insertPurchases = inserter(sql, purchases)
  const addToDays = inserter(sql, purchaseDays)
  const lock = locking(sql)
  const closed = closingCalls(sql)
  const sums = monthSums(sql)

  return {
    ...readsOf(sql),

    /** Locks the rows of the vendors until the transaction ends. Returns the ends of their pauses. */
    lockVendors: Effect.fnUntraced(function* (all: ReadonlyArray<string>) {
      const names = [...new Set(all)].sort()
      let rows = yield* lock(names)
      if (rows.length < names.length) {
        for (const name of names) {
          yield* sql`
            INSERT INTO vendors (name, paused_until) VALUES (${name}, 0) ON CONFLICT DO NOTHING`
        }
        rows = yield* lock(names)
      }
      return new Map(rows.map(({ name, pausedUntil }) => [name, pausedUntil]))
    }),

    pause: (provider: string, until: number) =>
      sql`UPDATE vendors SET paused_until = ${until} WHERE name = ${provider}`,

    /** Inserts calls without an answer. The vendors must be locked. */
    open: (opened: ReadonlyArray<Purchase>) => insertPurchases(opened),

    /**
     * Adds changes to the sums of their days. The vendors must be locked. One statement must not
     * change a row twice, so the changes of a day are added up before.
     */
    addToDays: (changes: ReadonlyArray<PurchaseDay>) => addToDays(sumsOf(changes)),

    /**
     * Closes those of the calls that are still open, and returns how that changes their days. The
     * vendors must be locked.
     */
    close: Effect.fnUntraced(function* (
      closes: ReadonlyArray<{ readonly purchase: Purchase; readonly cost: Cost }>,
    ) {
      if (closes.length === 0) return []
      // One statement must not change a row twice, and the first close of a call counts.
      const costs = new Map(closes.toReversed().map(({ cost, purchase }) => [purchase.id, cost]))
      return (yield* closed(costs)).map(({ cost, rowsBought: rows, ...purchase }) =>
        closing(purchase, { cost, rows }),
      )
    }),

    /** Returns the rows that each provider has bought in the month of `now`. */
    months: (providers: ReadonlyArray<string>, now: number) =>
      providers.length === 0
        ? Effect.succeed(new Map<string, MonthRows>())
        : Effect.map(
            sums({ providers: [...new Set(providers)], days: daysOfMonth(now) }),
            (rows) => new Map<string, MonthRows>(rows.map((row) => [row.provider, row])),
          ),
  }
}

const locking = (sql: SqlClient.SqlClient) =>
  prepared.query(
    sql,
    Schema.Struct({ name: Schema.String, pausedUntil: Schema.Int }),
    sql`
      SELECT name, paused_until AS "pausedUntil" FROM vendors WHERE name ${isAmong(sql, [])}
      ORDER BY name ${forUpdate(sql)}`,
  )

const closingCalls = (sql: SqlClient.SqlClient) => {
  const update = prepared.query(
    sql,
    Schema.Struct({
      provider: Schema.String,
      at: Schema.Int,
      targets: Schema.Int,
      rowsBought: Schema.Int,
      cost: Schema.NullOr(Schema.Int),
    }),
    sql`
      UPDATE purchases
      SET state = value->>1, rows_bought = CAST(value->>2 AS BIGINT),
        cost = CAST(value->>3 AS BIGINT), is_reported = CAST(value->>4 AS BIGINT)
      FROM ${rowsOf(sql, [])}
      WHERE purchases.id = value->>0 AND state = 'unknown'
      RETURNING provider, at, targets, rows_bought AS "rowsBought", cost`,
  )
  return (costs: ReadonlyMap<string, Cost>) =>
    update(
      Array.from(costs, ([id, { cost, isReported, rows, state }]) => [
        id,
        state,
        rows,
        cost,
        isReported ? 1 : 0,
      ]),
    )
}

const monthSums = (sql: SqlClient.SqlClient) =>
  SqlSchema.findAll({
    Request: Schema.Struct({
      providers: Schema.Array(Schema.String),
      days: Schema.Tuple(Schema.Int, Schema.Int),
    }),
    Result: Schema.Struct({
      provider: Schema.String,
      rows: Schema.Int,
      unknownTargets: Schema.Int,
    }),
    execute: ({ days: [first, last], providers }) => sql`
      SELECT provider, CAST(SUM(rows_bought) AS BIGINT) AS "rows",
        CAST(SUM(unknown_targets) AS BIGINT) AS unknown_targets
      FROM purchase_days
      WHERE provider ${isAmong(sql, providers)} AND day BETWEEN ${first} AND ${last}
      GROUP BY provider`,
  })

const readsOf = (sql: SqlClient.SqlClient) => {
  const days = SqlSchema.findAll({
    Request: Schema.Tuple(Schema.Int, Schema.Int),
    Result: DayRow,
    execute: ([first, last]) => sql`
      SELECT provider, day, calls, targets, rows_bought AS "rows", cost, unknown_calls,
        unknown_targets
      FROM purchase_days WHERE day BETWEEN ${first} AND ${last}
      ORDER BY day DESC, provider`,
  })
  return {
    days: ({ since = 0, until = Number.MAX_SAFE_INTEGER }) =>
      days([dayOf(since), dayOf(until - 1)]),

    /** True when the call is stored. */
    exists: (id: string) =>
      Effect.map(sql`SELECT 1 FROM purchases WHERE id = ${id}`, (rows) => rows.length > 0),

    /** Deletes a page of the calls opened at or before `until`, and returns them. */
    deleteSome: (until: number) => sql`
      DELETE FROM purchases WHERE id IN (
        SELECT id FROM purchases WHERE at <= ${until} LIMIT ${pageSize}
      ) RETURNING id`,
  }
}

const DayRow = Schema.Struct({
  provider: Schema.String,
  day: Schema.Int,
  calls: Schema.Int,
  targets: Schema.Int,
  rows: Schema.Int,
  cost: Schema.NullOr(Schema.Int),
  unknownCalls: Schema.Int,
  unknownTargets: Schema.Int,
})

const purchases: Table<Purchase> = {
  name: "purchases",
  columns: {
    id: ["TEXT", ({ id }) => id],
    provider: ["TEXT", ({ provider }) => provider],
    at: ["BIGINT", ({ at }) => at],
    targets: ["BIGINT", ({ targets }) => targets],
    state: ["TEXT", () => "unknown"],
  },
}

// A commit locks its vendors, so no other process changes these rows meanwhile.
const purchaseDays: Table<PurchaseDay> = {
  name: "purchase_days",
  key: ["provider", "day"],
  columns: {
    provider: ["TEXT", (row) => row.provider],
    day: ["BIGINT", (row) => row.day],
    calls: ["BIGINT", (row) => row.calls],
    targets: ["BIGINT", (row) => row.targets],
    rows_bought: ["BIGINT", (row) => row.rows],
    cost: ["BIGINT", (row) => row.cost],
    unknown_calls: ["BIGINT", (row) => row.unknownCalls],
    unknown_targets: ["BIGINT", (row) => row.unknownTargets],
  },
  changes: {
    ...Object.fromEntries(
      ["calls", "targets", "rows_bought", "unknown_calls", "unknown_targets"].map((column) => [
        column,
        `purchase_days.${column} + excluded.${column}`,
      ]),
    ),
    cost: "COALESCE(purchase_days.cost + excluded.cost, purchase_days.cost, excluded.cost)",
  },
}
