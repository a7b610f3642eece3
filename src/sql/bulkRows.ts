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

/** The parts of an INSERT into the table. `rowOf` makes the row of a record. */
export const insertionOf = <A>({ changes = {}, columns, key, name }: Table<A>) => {
  const names = Object.keys(columns)
  const cells = Object.values(columns).map(([, cell]) => cell)
  const changed = names.filter((each) => key?.includes(each) === false)
  return {
    into: `INSERT INTO ${name} (${names.join(", ")})`,
    onConflict: key
      ? `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changed.map((each) => `${each} = ${changes[each] ?? `excluded.${each}`}`).join(", ")}`
      : "",
    rowOf: (record: A) => cells.map((cell) => cell(record)),
  }
}

/**
 * Returns a function that inserts records as rows. PostgreSQL gets all rows as one JSON parameter,
 * so that any number of rows needs only one round trip. SQLite has no round trips, and inserts rows
 * twice as fast with one parameter per cell.
 */
export const inserter = <A>(
  sql: SqlClient.SqlClient,
  table: Table<A>,
): ((records: ReadonlyArray<A>) => Effect.Effect<unknown, SqlError>) => {
  const { into, onConflict, rowOf } = insertionOf(table)
  const types = Object.values(table.columns).map(([type]) => type)
  return sql.onDialectOrElse({
    sqlite: () => {
      const row = `(${types.map(() => "?").join(", ")})`
      const texts = new Map(
        sizes.map((size) => [
          size,
          `${into} VALUES ${Array<string>(size).fill(row).join(", ")} ${onConflict}`,
        ]),
      )
      return (records: ReadonlyArray<A>) =>
        chunked(records).reduce(
          (before: Effect.Effect<unknown, SqlError>, chunk) =>
            Effect.zipRight(
              before,
              execute(sql, texts.get(chunk.length) ?? "", chunk.flatMap(rowOf)),
            ),
          Effect.void,
        )
    },
    orElse: () => {
      const cells = types.map((type, i) => `CAST(value->>${i} AS ${type})`).join(", ")
      const text = `${into} SELECT ${cells} FROM json_array_elements($1::json) AS rows (value) ${onConflict}`
      return (records: ReadonlyArray<A>) =>
        records.length === 0
          ? Effect.void
          : execute(sql, text, [JSON.stringify(records.map(rowOf))])
    },
  })
}

// SQLite has one INSERT statement for each of these numbers of rows: 1 to 64 rows need at most two.
// If every number had a statement, most would be used too rarely to stay prepared.
const sizes = [64, 56, 48, 40, 32, 24, 16, 8, 7, 6, 5, 4, 3, 2, 1]

const chunked = <A>(rows: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> => {
  const chunks: Array<ReadonlyArray<A>> = []
  let taken = 0
  for (const size of sizes) {
    for (; rows.length - taken >= size; taken += size) chunks.push(rows.slice(taken, taken + size))
  }
  return chunks
}
