/** Stores the cost of calls in SQL. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { daysOf } from "../../ledger/usage/Usage.ts"
import { inserter, type Table } from "../../database/rows/bulkRows.ts"
import * as Failure from "../../database/Failure.ts"
import { makeRetryAfterDisconnection } from "../../database/retry.ts"
import { type Cost, Costs, summed } from "./Costs.ts"

export const layer: Layer.Layer<Costs, never, SqlClient.SqlClient> = Layer.effect(
  Costs,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const retried = yield* makeRetryAfterDisconnection
    const insert = inserter(sql, table)
    const find = SqlSchema.findAll({
      Request: Schema.Tuple(Schema.Int, Schema.Int),
      Result: Row,
      execute: ([first, last]) => sql`
        SELECT provider, day, calls, rows_bought AS "rows", cost, failed,
          unknown_calls AS unanswered
        FROM costs WHERE day BETWEEN ${first} AND ${last}
        ORDER BY day, provider`,
    })
    return Costs.of({
      // Rows are summed first, because one statement must not change a row twice. The transaction
      // is needed because on SQLite, a statement outside one would not wait for the write lock.
      add: (costs) => sql.withTransaction(insert(summed(costs))).pipe(Effect.asVoid, Failure.orDie),
      days: (range) => find(daysOf(range)).pipe(retried, Failure.orDie),
    })
  }),
)

const Row = Schema.Struct({
  provider: Schema.String,
  day: Schema.Int,
  calls: Schema.Int,
  rows: Schema.Int,
  cost: Schema.NullOr(Schema.Int),
  failed: Schema.Int,
  unanswered: Schema.Int,
})

const counts = ["calls", "rows_bought", "failed", "unknown_calls"]

const table: Table<Cost> = {
  name: "costs",
  texts: ["provider"],
  numbers: ["day", "cost", ...counts],
  key: ["provider", "day"],
  sums: counts,
  changes: { cost: "COALESCE(costs.cost + excluded.cost, costs.cost, excluded.cost)" },
  rowOf: ({ rows, unanswered, ...cost }) => ({
    ...cost,
    rowsBought: rows,
    unknownCalls: unanswered,
  }),
}
