/** Statements that every commit runs. Their texts are made once, and their rows decoded fast. */
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
import * as TypeGuard from "./TypeGuard.ts"

/**
 * Runs a text on the connection of the transaction. Returns the rows with the columns' own names.
 * The client's statements do the same with about sixty more steps of the fiber: a scope for the
 * connection, and a span, which only a traced program needs.
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
 * Makes a function that runs a statement with one parameter, which is an array as JSON. The
 * statement given here has an empty array in its place.
 */
export const command = (sql: SqlClient.SqlClient, statement: Statement<unknown>) => {
  const [text] = statement.compile()
  return (parameter: ReadonlyArray<unknown>) => execute(sql, text, [JSON.stringify(parameter)])
}

/** Like `command`, and decodes the rows. Each column needs the name that it has in the schema. */
export const query = <A, I>(
  sql: SqlClient.SqlClient,
  row: Schema.Schema<A, I>,
  statement: Statement<unknown>,
) => {
  const run = command(sql, statement)
  const decode = decoder(row)
  return (parameter: ReadonlyArray<unknown>) => Effect.flatMap(run(parameter), decode)
}

/** Makes a function that decodes rows, which have the names of the schema, as one array. */
export const decoder = <A, I>(row: Schema.Schema<A, I>) => {
  const decode = TypeGuard.decoder(Schema.Array(row))
  return (rows: ReadonlyArray<unknown>) => Either.mapLeft(decode(rows), ParseResult.parseError)
}
