/** Checks that a database belongs to this program, before anything is written to it. */
import { resolve } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { StoreFailure } from "./StoreFailure.ts"
import * as ConnectionString from "./ConnectionString.ts"
import * as Failure from "./Failure.ts"

export class NoDatabase extends Data.TaggedError("NoDatabase")<{ readonly place: string }> {
  override get message() {
    return `there is no database at ${this.place}; check AUTHORITY_DATABASE_URL and the folder, or create a database with "authority serve" or "authority account create NAME"`
  }
}

/**
 * True when the tables of the first migration exist. Fails with StoreFailure when the query fails.
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

/** What a database must contain: this program's tables, these or no tables at all, or anything. */
export type Content = "ours" | "ours or nothing" | "anything"

/** Fails with NoDatabase or StoreFailure when the database at `place` contains something else. */
export const examine = (
  place: string,
  content: Content,
): Effect.Effect<void, NoDatabase | StoreFailure, SqlClient.SqlClient> => {
  if (content === "anything") return Effect.void
  if (content === "ours or nothing")
    return Effect.flatMap(SqlClient.SqlClient, (sql) => refuseForeign(sql, place))
  return isPresent.pipe(
    Effect.filterOrFail(
      (isThere) => isThere,
      () => new NoDatabase({ place }),
    ),
    Effect.asVoid,
  )
}

/** Tables that a process creates before those of the first migration. */
const tablesOfMigrations = "('effect_sql_migrations', 'migration_lock')"

/** Uses one statement, because another process may be creating the tables at this moment. */
const refuseForeign = (sql: SqlClient.SqlClient, place: string) =>
  sql
    .onDialectOrElse({
      pg: () => sql<{ name: string }>`
        SELECT tablename AS name FROM pg_tables
        WHERE schemaname = current_schema()
        AND tablename NOT IN ${sql.literal(tablesOfMigrations)}
        AND (to_regclass('effect_sql_migrations') IS NULL OR to_regclass('entries') IS NULL)
        ORDER BY tablename LIMIT 1`,
      orElse: () => sql<{ name: string }>`
        SELECT name FROM sqlite_schema WHERE type = 'table'
        AND name NOT LIKE 'sqlite_%' AND name NOT IN ${sql.literal(tablesOfMigrations)}
        AND (SELECT count(*) FROM sqlite_schema WHERE type = 'table'
          AND name IN ('effect_sql_migrations', 'entries')) < 2
        ORDER BY name LIMIT 1`,
    })
    .pipe(
      Effect.mapError(Failure.describe),
      Effect.filterOrFail(
        (tables) => tables.length === 0,
        ([table]) =>
          new StoreFailure({
            message: `the database at ${place} belongs to another program: it has the table ${table?.name}; set AUTHORITY_DATABASE_URL to a database without tables`,
          }),
      ),
      Effect.asVoid,
    )

/**
 * Names a database in messages: by its absolute path, or by its server and name without the login.
 */
export const placeOf = (databaseUrl: string): string => {
  if (databaseUrl.startsWith("sqlite:")) return pathOf(databaseUrl.slice("sqlite:".length))
  return ConnectionString.shown(databaseUrl).replace(/(?<=:\/\/)[^@]*@/, "")
}

/** The absolute path of SQLite's file. Leaves `:memory:` as it is. */
export const pathOf = (filename: string): string =>
  filename.trim() === ":memory:" ? ":memory:" : resolve(filename.trim())
