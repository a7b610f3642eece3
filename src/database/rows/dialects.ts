/** SQL that SQLite and PostgreSQL write differently. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as String from "effect/String"

/** Column names are snake_case in the database and camelCase in the program. */
export const naming = {
  transformQueryNames: String.camelToSnake,
  transformResultNames: String.snakeToCamel,
}

/**
 * The SQL for the database's current time, in epoch milliseconds. It is used where the clocks of
 * processes may differ.
 */
export const databaseTime = (sql: SqlClient.SqlClient): string =>
  sql.onDialectOrElse({
    sqlite: () => "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    orElse: () => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
  })

/**
 * Ends a SELECT that locks its rows until the transaction ends. SQLite needs no row locks, because
 * an immediate transaction locks the whole file against other writers.
 */
export const forUpdate = (sql: SqlClient.SqlClient) =>
  sql.literal(sql.onDialectOrElse({ pg: () => "FOR UPDATE", orElse: () => "" }))
