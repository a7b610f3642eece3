/**
 * The plain code that the ablation benchmark puts in place of src/sql/bulkRows.ts: SQLite gets all
 * rows as one parameter, as PostgreSQL does.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { insertionOf, type Table } from "../../../src/sql/bulkRows.ts"

export { isAmong, rowsOf } from "../../../src/sql/bulkRows.ts"

export const inserter = <A>(
  sql: SqlClient.SqlClient,
  table: Table<A>,
): ((records: ReadonlyArray<A>) => Effect.Effect<unknown, SqlError>) => {
  const { into, onConflict, rowOf } = insertionOf(table)
  const cells = Object.keys(table.columns).map((_, i) => `value->>${i}`)
  // Without a WHERE, SQLite would read the ON of ON CONFLICT as the condition of a join.
  const text = `${into} SELECT ${cells.join(", ")} FROM json_each(?) WHERE true ${onConflict}`
  return (records) =>
    records.length === 0 ? Effect.void : sql.unsafe(text, [JSON.stringify(records.map(rowOf))])
}
