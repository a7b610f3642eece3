/** Asks a PostgreSQL server for its version and its settings. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Failure from "./Failure.ts"

const oldestPromised = 14

const Facts = Schema.Struct({
  /** The version as the server writes it, such as `18.1`. */
  version: Schema.String,
  versionNumber: Schema.NumberFromString,
  isStandby: Schema.BooleanFromString,
  synchronousCommit: Schema.String,
  fsync: Schema.String,
})

/**
 * Other databases that use PostgreSQL's protocol lack some of these settings, which are then
 * `unknown`. Fails with StoreFailure when the server cannot be asked.
 */
export const examine = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  SqlSchema.single({
    Request: Schema.Void,
    Result: Facts,
    execute: () => sql`
      SELECT
        current_setting('server_version') AS version,
        current_setting('server_version_num') AS "versionNumber",
        pg_is_in_recovery()::text AS "isStandby",
        coalesce(current_setting('synchronous_commit', true), 'unknown') AS "synchronousCommit",
        coalesce(current_setting('fsync', true), 'unknown') AS fsync`,
  })(undefined),
).pipe(
  Effect.map(({ versionNumber, ...facts }) => ({
    ...facts,
    age:
      versionNumber < oldestPromised * 10_000
        ? `PostgreSQL ${facts.version} is older than ${oldestPromised}, the oldest supported version`
        : undefined,
  })),
  Effect.mapError(Failure.describe),
)

/** Logs a warning when the server is older than the oldest supported version. Ignores errors. */
export const warnOfVersion = Effect.flatMap(examine, ({ age }) =>
  age === undefined ? Effect.void : Effect.logWarning(`Update the database server. ${age}.`),
).pipe(Effect.ignore)
