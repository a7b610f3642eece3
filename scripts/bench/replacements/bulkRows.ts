/**
 * The plain code that the ablation benchmark puts in place of src/sql/bulkRows.ts: SQLite gets all
 * rows as one parameter, as PostgreSQL does.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"

export { isAmong, rowsOf } from "../../../src/sql/bulkRows.ts"

export const inserter = (
  sql: SqlClient.SqlClient,
  {
    columns,
    onConflict = "",
    table,
  }: {
    readonly table: string
    readonly columns: Readonly<Record<string, "TEXT" | "BIGINT">>
    readonly onConflict?: string
  },
): ((
  rows: ReadonlyArray<ReadonlyArray<string | number | null>>,
) => Effect.Effect<unknown, SqlError>) => {
  const names = Object.keys(columns)
  const cells = names.map((_, i) => `value->>${i}`).join(", ")
  // Without a WHERE, SQLite would read the ON of ON CONFLICT as the condition of a join.
  const text = `INSERT INTO ${table} (${names.join(", ")})
    SELECT ${cells} FROM json_each(?) WHERE true ${onConflict}`
  return (rows) => (rows.length === 0 ? Effect.void : sql.unsafe(text, [JSON.stringify(rows)]))
}
