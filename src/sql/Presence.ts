/** Checks that a database belongs to this program, before anything is written to it. */
import { resolve } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as ConnectionString from "./ConnectionString.ts"
import * as Failure from "./Failure.ts"

/** No database of this program is at `place`. */
export class NoDatabase extends Data.TaggedError("NoDatabase")<{ readonly place: string }> {
  override get message() {
    return `there is no database at ${this.place}; check AUTHORITY_DATABASE_URL and the folder, or create a database with "authority serve" or "authority account create NAME"`
  }
}

/**
 * Returns true when the tables of the first migration exist. Fails with StoreFailure when the query
 * fails.
 */
export const isPresent = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.onDialectOrElse({
    pg: () => sql`
      SELECT 1 WHERE to_regclass('effect_sql_migrations') IS NOT NULL
      AND to_regclass('entries') IS NOT NULL`,
    orElse: () => sql`
      SELECT 1 FROM sqlite_schema WHERE type = 'table'
      AND name IN ('effect_sql_migrations', 'entries') GROUP BY type HAVING count(*) = 2`,
  }),
).pipe(
  Effect.map((rows) => rows.length > 0),
  Effect.mapError(Failure.describe),
)

/** Fails with NoDatabase when the tables of the first migration do not exist. */
export const required = (sql: SqlClient.SqlClient, place: string) =>
  Effect.provideService(isPresent, SqlClient.SqlClient, sql).pipe(
    Effect.filterOrFail(
      (isThere) => isThere,
      () => new NoDatabase({ place }),
    ),
  )

/**
 * Names a database in messages: by its absolute path, or by server and name, without user and
 * password.
 */
export const placeOf = (databaseUrl: string): string => {
  if (databaseUrl.startsWith("sqlite:")) return pathOf(databaseUrl.slice("sqlite:".length))
  return ConnectionString.shown(databaseUrl).replace(/(?<=:\/\/)[^@]*@/, "")
}

/** The absolute path of SQLite's file. `:memory:` stays as it is. */
export const pathOf = (filename: string): string =>
  filename === ":memory:" ? filename : resolve(filename.trim())
