import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Health } from "../Health.ts"
import { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"
import * as Migrations from "./Migrations.ts"

export const layer: Layer.Layer<Health, never, SqlClient.SqlClient> = Layer.effect(
  Health,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const name = sql.onDialectOrElse({ pg: () => "PostgreSQL", orElse: () => "SQLite" })
    return {
      stores: Migrations.applied.pipe(
        Effect.map((version) => ({
          description: `${name}, schema ${version}`,
          isMigrated: version >= Migrations.newest,
        })),
        Effect.mapError(Failure.describe),
        Effect.timeoutFail({
          duration: "2 seconds",
          onTimeout: () => new StoreFailure({ message: "the database does not answer" }),
        }),
        Effect.provideService(SqlClient.SqlClient, sql),
      ),
    }
  }),
)
