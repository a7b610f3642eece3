import { existsSync } from "node:fs"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { v7 as uuid } from "uuid"
import { Health } from "../Health.ts"
import { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"
import { Heartbeat } from "./Heartbeat.ts"
import * as Migrations from "./Migrations.ts"

// SQLite keeps on writing to a deleted file.
const fileDeleted =
  "the database's file was deleted; what is written to it is lost when the service stops"

/**
 * Reports the state of the database. `trouble`, the reason why commits fail, comes from the
 * Heartbeat service, or is that the SQLite file was deleted.
 */
export const layer: Layer.Layer<Health, never, SqlClient.SqlClient> = Layer.effect(
  Health,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const heartbeat = Option.getOrUndefined(yield* Effect.serviceOption(Heartbeat))
    const name = sql.onDialectOrElse({ pg: () => "PostgreSQL", orElse: () => "SQLite" })

    const isDeleted = sql.onDialectOrElse({
      pg: () => Effect.succeed(false),
      orElse: () =>
        Effect.map(
          sql<{ file: string }>`SELECT file FROM pragma_database_list WHERE name = 'main'`,
          // A database in memory has no file.
          (rows) => rows.some(({ file }) => file !== "" && !existsSync(file)),
        ),
    })

    // Inserts and deletes a row in the table `processes`. If the deletion fails, another process
    // later treats the row as a dead process's row and removes it.
    const write = Effect.suspend(() => {
      const id = uuid()
      return Effect.zipRight(
        sql.withTransaction(sql`INSERT INTO processes (id, beats) VALUES (${id}, 0)`),
        sql.withTransaction(sql`DELETE FROM processes WHERE id = ${id}`),
      )
    })

    return {
      stores: Effect.zipWith(Migrations.applied, isDeleted, (version, deleted) => ({
        description: `${name}, schema ${version}`,
        isMigrated: version >= Migrations.newest,
        trouble: deleted ? fileDeleted : heartbeat?.trouble(),
      })).pipe(
        Effect.mapError(Failure.describe),
        Effect.timeoutFail({
          duration: "2 seconds",
          onTimeout: () =>
            new StoreFailure({
              message:
                "the database does not answer; check AUTHORITY_DATABASE_URL, and the database's server or disk",
            }),
        }),
        Effect.provideService(SqlClient.SqlClient, sql),
      ),
      write: Effect.asVoid(Effect.mapError(write, Failure.describe)),
    }
  }),
)
