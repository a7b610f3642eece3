/** Parts of the statements that find accounts and API keys for an operator. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import * as Search from "./Search.ts"

/** The end of a statement that returns one page of a table, newest first. */
export const pageOf = (
  sql: SqlClient.SqlClient,
  table: "accounts" | "api_keys",
  { before, limit }: Search.Search,
  found: Fragment,
): Fragment => {
  const id = sql.literal(`${table}.id`)
  const isEarlier = before === undefined ? [] : [sql`${id} < ${before}`]
  return sql`WHERE ${sql.and([found, ...isEarlier])} ORDER BY ${id} DESC LIMIT ${limit}`
}

/** True for an account whose name contains the text. */
export const hasName = (sql: SqlClient.SqlClient, text: string) =>
  contains(sql, "accounts.name", text)

/** True for a key whose label contains the text, or that begins with it. */
export const isKey = (sql: SqlClient.SqlClient, text: string): Fragment => {
  const start = Search.startOf(text)
  return sql.or([
    contains(sql, "api_keys.label", text),
    ...(start === undefined
      ? []
      : [sql`SUBSTR(api_keys.start, 1, ${sql.literal(String(start.length))}) = ${start}`]),
  ])
}

const contains = (
  sql: SqlClient.SqlClient,
  column: "accounts.name" | "api_keys.label",
  text: string,
): Fragment => {
  const pattern = `%${Search.folded(text).replaceAll(/[!%_]/g, "!$&")}%`
  // LIKE of SQLite ignores the case of ASCII letters. This collation of PostgreSQL lowers only them.
  const folded = sql.onDialectOrElse({
    sqlite: () => sql.literal(column),
    orElse: () => sql.literal(`LOWER(${column} COLLATE "C")`),
  })
  return sql`${folded} LIKE ${pattern} ESCAPE '!'`
}
