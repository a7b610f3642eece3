import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { snakeToCamel } from "effect/String"
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

/** A table, and the columns of its rows: a record has them under their names in camelCase. */
export interface Table<A extends object> {
  readonly name: string
  readonly texts: ReadonlyArray<string>
  readonly numbers: ReadonlyArray<string>
  readonly doubles?: ReadonlyArray<string>
  /** A row with the same key is replaced, except for `sums` and `changes`. */
  readonly key?: ReadonlyArray<string>
  /** The numbers that are added to those of the row. */
  readonly sums?: ReadonlyArray<string>
  /** The SQL of other values of a row that is replaced. */
  readonly changes?: Readonly<Record<string, string>>
  /** Default: the record itself. */
  readonly rowOf?: (record: A) => object
}

/**
 * Returns a function that inserts records as rows. All rows are one JSON parameter, so that one
 * prepared statement, in one round trip, serves any number of rows.
 */
export const inserter = <A extends object>(
  sql: SqlClient.SqlClient,
  table: Table<A>,
): ((records: ReadonlyArray<A>) => Effect.Effect<unknown, SqlError>) => {
  const { changes = {}, doubles = [], key, name, sums = [] } = table
  const { numbers, rowOf = (record: A): object => record, texts } = table
  const columns = [...texts, ...numbers, ...doubles]
  const cells = columns.map((column, i) => {
    const type =
      i < texts.length ? "TEXT" : doubles.includes(column) ? "DOUBLE PRECISION" : "BIGINT"
    return `CAST(value->>${i} AS ${type})`
  })
  const names = columns.map(snakeToCamel)
  const replaced = columns
    .filter((column) => key?.includes(column) === false)
    .map((column) => {
      const value = sums.includes(column) ? `${name}.${column} + excluded.${column}` : undefined
      return `${column} = ${changes[column] ?? value ?? `excluded.${column}`}`
    })
  // SQLite needs the WHERE to tell ON CONFLICT from the ON of a join.
  const [text] = sql`
    INSERT INTO ${sql.literal(`${name} (${columns.join(", ")}) SELECT ${cells.join(", ")}`)}
    FROM ${rowsOf(sql, [])} WHERE TRUE
    ${sql.literal(key ? `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${replaced.join(", ")}` : "")}`.compile()
  return (records) =>
    records.length === 0
      ? Effect.void
      : execute(sql, text, [JSON.stringify(records.map((record) => cellsOf(rowOf(record), names)))])
}

// Rows are arrays, because SQLite finds the third cell of one faster than a field of an object.
const cellsOf = (row: object, names: ReadonlyArray<string>) =>
  names.map((name): unknown => Reflect.get(row, name))
