import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"

/**
 * Makes an SQL table expression of rows that are passed as one JSON parameter, so that one prepared
 * statement serves any number of rows. `value->>0` is a row's first cell, as text.
 */
export const rowsOf = (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<ReadonlyArray<string | number | null>>,
) => {
  const json = JSON.stringify(rows)
  return sql.onDialectOrElse({
    sqlite: () => sql`json_each(${json}) AS rows`,
    orElse: () => sql`json_array_elements(${json}::json) AS rows (value)`,
  })
}

/**
 * Makes the SQL condition "is one of `texts`", to be written after the name of a column. All texts
 * are one parameter.
 */
export const isAmong = (sql: SqlClient.SqlClient, texts: ReadonlyArray<string>) => {
  const json = JSON.stringify(texts)
  return sql.onDialectOrElse({
    sqlite: () => sql`IN (SELECT value FROM json_each(${json}))`,
    // Do not use `IN (SELECT …)`: PostgreSQL turns it into a join, which may read the whole table,
    // with its dead rows, instead of using the index.
    orElse: () => sql`= ANY (ARRAY(SELECT json_array_elements_text(${json}::json)))`,
  })
}

type Row = ReadonlyArray<string | number | null>

/**
 * Returns a function that inserts rows, with cells in the order of `columns`. PostgreSQL gets all
 * rows as one JSON parameter, so that any number of rows needs only one round trip. SQLite has no
 * round trips, and inserts rows twice as fast with one parameter per cell.
 */
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
): ((rows: ReadonlyArray<Row>) => Effect.Effect<unknown, SqlError>) => {
  const into = `INSERT INTO ${table} (${Object.keys(columns).join(", ")})`
  return sql.onDialectOrElse({
    sqlite: () => {
      const row = `(${Object.keys(columns).fill("?").join(", ")})`
      const texts = new Map(
        sizes.map((size) => [
          size,
          `${into} VALUES ${Array<string>(size).fill(row).join(", ")} ${onConflict}`,
        ]),
      )
      return (rows: ReadonlyArray<Row>) =>
        chunked(rows).reduce(
          (before: Effect.Effect<unknown, SqlError>, chunk) =>
            Effect.zipRight(before, sql.unsafe(texts.get(chunk.length) ?? "", chunk.flat())),
          Effect.void,
        )
    },
    orElse: () => {
      const cells = Object.values(columns).map((type, i) =>
        type === "TEXT" ? `value->>${i}` : `CAST(value->>${i} AS ${type})`,
      )
      const text = `${into} SELECT ${cells.join(", ")} FROM json_array_elements($1::json) AS rows (value) ${onConflict}`
      return (rows: ReadonlyArray<Row>) =>
        rows.length === 0 ? Effect.void : sql.unsafe(text, [JSON.stringify(rows)])
    },
  })
}

/**
 * SQLite has one INSERT statement for each of these numbers of rows: 1 to 64 rows need at most two.
 * If every number had a statement, most would be used too rarely to stay prepared.
 */
const sizes = [64, 56, 48, 40, 32, 24, 16, 8, 7, 6, 5, 4, 3, 2, 1]

const chunked = (rows: ReadonlyArray<Row>): ReadonlyArray<ReadonlyArray<Row>> => {
  const chunks: Array<ReadonlyArray<Row>> = []
  let taken = 0
  for (const size of sizes) {
    for (; rows.length - taken >= size; taken += size) chunks.push(rows.slice(taken, taken + size))
  }
  return chunks
}
