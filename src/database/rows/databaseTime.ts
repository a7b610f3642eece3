import type * as SqlClient from "@effect/sql/SqlClient"

/**
 * The SQL of the present time by the clock of the database, in epoch milliseconds. The clocks of
 * processes differ.
 */
export const databaseTime = (sql: SqlClient.SqlClient): string =>
  sql.onDialectOrElse({
    sqlite: () => "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    orElse: () => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
  })
