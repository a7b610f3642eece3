import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { execute } from "./prepared.ts"

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

/** Makes the SQL condition "is one of `numbers`", like `isAmong`. */
export const isAmongNumbers = (sql: SqlClient.SqlClient, numbers: ReadonlyArray<number>) => {
  const json = JSON.stringify(numbers)
  return sql.onDialectOrElse({
    sqlite: () => sql`IN (SELECT value FROM json_each(${json}))`,
    orElse: () => sql`= ANY (ARRAY(SELECT CAST(value AS BIGINT)
      FROM json_array_elements_text(${json}::json) AS numbers (value)))`,
  })
}

type Type = "TEXT" | "BIGINT" | "DOUBLE PRECISION"

/**
 * A table, and how each column's cell is made of a record. When there is a `key`, a row with the
 * same key is replaced: columns in `changes` get these SQL values, and the others their new cells.
 */
export interface Table<A> {
  readonly name: string
  readonly columns: Readonly<Record<string, readonly [Type, (record: A) => string | number | null]>>
  readonly key?: ReadonlyArray<string>
  readonly changes?: Readonly<Record<string, string>>
}

/**
 * Returns a function that inserts records as rows. All rows are one JSON parameter, so that one
 * prepared statement, in one round trip, serves any number of rows.
 */
export const inserter = <A>(
  sql: SqlClient.SqlClient,
  table: Table<A>,
): ((records: ReadonlyArray<A>) => Effect.Effect<unknown, SqlError>) => {
  const { changes = {}, columns, key, name } = table
  const names = Object.keys(columns)
  const cells = Object.values(columns)
  const casts = cells.map(([type], i) => `CAST(value->>${i} AS ${type})`).join(", ")
  const replaced = names
    .filter((each) => key?.includes(each) === false)
    .map((each) => `${each} = ${changes[each] ?? `excluded.${each}`}`)
  // SQLite needs the WHERE to tell ON CONFLICT from the ON of a join.
  const [text] = sql`
    INSERT INTO ${sql.literal(`${name} (${names.join(", ")})`)}
    SELECT ${sql.literal(casts)} FROM ${rowsOf(sql, [])} WHERE TRUE
    ${sql.literal(key ? `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${replaced.join(", ")}` : "")}`.compile()
  return (records) =>
    records.length === 0
      ? Effect.void
      : execute(sql, text, [
          JSON.stringify(records.map((record) => cells.map(([, cell]) => cell(record)))),
        ])
}
