/** What SQLite and PostgreSQL write differently, in the tables and in SQL. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as String from "effect/String"

/** Column names are snake_case in the database and camelCase in the program. */
export const naming = {
  transformQueryNames: String.camelToSnake,
  transformResultNames: String.snakeToCamel,
}

/**
 * The SQL of the present time by the clock of the database, in epoch milliseconds. The clocks of
 * processes differ.
 */
export const databaseTime = (sql: SqlClient.SqlClient): string =>
  sql.onDialectOrElse({
    sqlite: () => "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    orElse: () => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
  })

/**
 * Ends a SELECT that locks its rows until the transaction ends. SQLite needs no row locks: an
 * immediate transaction locks the whole file against other writers.
 */
export const forUpdate = (sql: SqlClient.SqlClient) =>
  sql.literal(sql.onDialectOrElse({ pg: () => "FOR UPDATE", orElse: () => "" }))
