import type * as SqlClient from "@effect/sql/SqlClient"

/**
 * Rows as one parameter: `value->>0` is a row's first cell, as text. The statement's own text is
 * then the same for any number of rows, so that it is prepared once and for all.
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

/** A condition on the column before it, with any number of texts as one parameter too. */
export const isAmong = (sql: SqlClient.SqlClient, texts: ReadonlyArray<string>) => {
  const json = JSON.stringify(texts)
  return sql.onDialectOrElse({
    sqlite: () => sql`IN (SELECT value FROM json_each(${json}))`,
    // Of a subquery PostgreSQL makes a join, and for that it may read all of a small, busy table.
    orElse: () => sql`= ANY (ARRAY(SELECT json_array_elements_text(${json}::json)))`,
  })
}
