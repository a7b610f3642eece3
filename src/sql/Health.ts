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

/**
 * Reports the state of the database. `trouble`, the reason why commits fail, comes from the
 * Heartbeat service; without that service, `trouble` is always undefined.
 */
export const layer: Layer.Layer<Health, never, SqlClient.SqlClient> = Layer.effect(
  Health,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const heartbeat = Option.getOrUndefined(yield* Effect.serviceOption(Heartbeat))
    const name = sql.onDialectOrElse({ pg: () => "PostgreSQL", orElse: () => "SQLite" })

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
      stores: Migrations.applied.pipe(
        Effect.map((version) => ({
          description: `${name}, schema ${version}`,
          isMigrated: version >= Migrations.newest,
          trouble: heartbeat?.trouble(),
        })),
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
