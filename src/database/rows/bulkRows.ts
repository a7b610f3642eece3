/**
 * Statements whose rows are one JSON parameter. One statement text, prepared once, serves any
 * number of rows in one round trip.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Statement } from "@effect/sql/Statement"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { snakeToCamel } from "effect/String"
import * as TypeGuard from "./TypeGuard.ts"

/**
 * Runs a statement on the connection of the transaction. Returns the rows with the database's
 * column names. The client's own statements take about sixty more fiber steps, for a scope and a
 * span that are not needed here.
 */
export const execute = (
  sql: SqlClient.SqlClient,
  text: string,
  parameters: ReadonlyArray<unknown>,
): Effect.Effect<ReadonlyArray<unknown>, SqlError> =>
  Effect.withFiberRuntime((fiber) => {
    const transaction = Context.getOption(fiber.currentContext, SqlClient.TransactionConnection)
    return Option.isNone(transaction) || fiber.getFiberRef(FiberRef.currentTracerEnabled)
      ? sql.unsafe(text, parameters).withoutTransform
      : transaction.value[0].execute(text, parameters, undefined)
  })

/**
 * Makes a function that runs a statement whose only parameter is a JSON array. The statement given
 * here has an empty array in its place.
 */
export const command = (sql: SqlClient.SqlClient, statement: Statement<unknown>) => {
  const [text] = statement.compile()
  return (parameter: ReadonlyArray<unknown>) => execute(sql, text, [JSON.stringify(parameter)])
}

/** Like `command`, but decodes the rows. Each column must be named as in the schema. */
export const query = <A, I>(
  sql: SqlClient.SqlClient,
  row: Schema.Schema<A, I>,
  statement: Statement<unknown>,
) => {
  const run = command(sql, statement)
  const decode = decoder(row)
  return (parameter: ReadonlyArray<unknown>) => Effect.flatMap(run(parameter), decode)
}

/** Makes a function that decodes rows, all at once, whose columns are named as in the schema. */
export const decoder = <A, I>(row: Schema.Schema<A, I>) => {
  const decode = TypeGuard.decoder(Schema.Array(row))
  return (rows: ReadonlyArray<unknown>) => Either.mapLeft(decode(rows), ParseResult.parseError)
}

/** Makes an SQL table expression of rows. `value->>0` is a row's first cell, as text. */
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

/** Makes the SQL condition "is one of `texts`", which follows the name of a column. */
export const isAmong = (sql: SqlClient.SqlClient, texts: ReadonlyArray<string>) => {
  const json = JSON.stringify(texts)
  return sql.onDialectOrElse({
    sqlite: () => sql`IN (SELECT value FROM json_each(${json}))`,
    // Do not use `IN (SELECT …)`: PostgreSQL turns it into a join, which may read the whole table,
    // with its dead rows, instead of using the index.
    orElse: () => sql`= ANY (ARRAY(SELECT json_array_elements_text(${json}::json)))`,
  })
}

/** A table and its columns, whose names are camelCase in the records. */
export interface Table<A extends object> {
  readonly name: string
  readonly texts: ReadonlyArray<string>
  readonly numbers: ReadonlyArray<string>
  readonly doubles?: ReadonlyArray<string>
  /** The primary key. A row with the same key is replaced, except for `sums` and `changes`. */
  readonly key?: ReadonlyArray<string>
  /** The columns whose new value is added to the old one. */
  readonly sums?: ReadonlyArray<string>
  /** The SQL of new values for a row with the same key, by column. */
  readonly changes?: Readonly<Record<string, string>>
  /** Makes a row from a record. Default: the record itself. */
  readonly rowOf?: (record: A) => object
}

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

// Rows are arrays, because SQLite finds a cell of an array faster than a field of an object.
const cellsOf = (row: object, names: ReadonlyArray<string>) =>
  names.map((name): unknown => Reflect.get(row, name))
