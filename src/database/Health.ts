/** The port (interface) to the state of the database: whether it answers and accepts writes. */
import { existsSync } from "node:fs"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schedule from "effect/Schedule"
import * as MonotonicClock from "../check/MonotonicClock.ts"
import * as Failure from "./Failure.ts"
import * as Migrations from "./migrations/migrate.ts"
import { StoreFailure } from "./StoreFailure.ts"

export interface StoreState {
  /** Names the database and its schema version, for people. */
  readonly description: string
  /** True when every migration that this program knows has run. */
  readonly isMigrated: boolean
  /** Why this process cannot commit, or why its commits will be lost, as text for people. */
  readonly trouble: string | undefined
}

export class Health extends Context.Tag("authority/Health")<
  Health,
  {
    /** Reads the state of the stores. Fails with StoreFailure when they do not answer. */
    readonly stores: Effect.Effect<StoreState, StoreFailure>
    /**
     * Writes a test row and deletes it. Fails with StoreFailure when the stores refuse the write.
     */
    readonly write: Effect.Effect<void, StoreFailure>
  }
>() {}

// SQLite goes on writing to a deleted file.
const fileDeleted =
  "the database's file was deleted; what is written to it is lost when the service stops"

/**
 * Reads the state of the database on request.
 *
 * @internal
 */
export const layer: Layer.Layer<Health, never, SqlClient.SqlClient> = Layer.effect(
  Health,
  Effect.map(SqlClient.SqlClient, (sql) => make(sql, Effect.succeed(undefined))),
)

/** `trouble` reports a problem when the last successful write is older than this. */
const readyForMs = 10_000

/**
 * Reads the state of the database, and also writes to it every two seconds. The service is ready
 * while these writes succeed.
 *
 * @internal
 */
export const watching: Layer.Layer<Health, never, SqlClient.SqlClient> = Layer.scoped(
  Health,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const last = yield* Ref.make<{ writtenAt?: number; failure?: string }>({})
    const trouble = Effect.zipWith(Ref.get(last), MonotonicClock.now, (known, now) => {
      const { failure, writtenAt } = known
      if (writtenAt !== undefined && now - writtenAt <= readyForMs) return undefined
      const since = writtenAt === undefined ? "no commit yet" : "no commit in the last 10 seconds"
      return failure === undefined ? since : `${since}: ${failure}`
    })
    const health = make(sql, trouble)
    yield* writing(sql).pipe(
      Effect.matchCauseEffect({
        onSuccess: () =>
          Effect.flatMap(MonotonicClock.now, (writtenAt) => Ref.set(last, { writtenAt })),
        onFailure: (cause) => {
          const failure = Failure.summarize(Cause.squash(cause))
          return Ref.update(last, (known) => ({ ...known, failure }))
        },
      }),
      Effect.repeat(Schedule.spaced("2 seconds")),
      Effect.forkScoped,
    )
    return health
  }),
)

/** Writes the time into the only row of the table `write_check`. */
const writing = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(Clock.currentTimeMillis, (at) =>
    sql.withTransaction(sql`
      INSERT INTO write_check (id, at) VALUES (1, ${at})
      ON CONFLICT (id) DO UPDATE SET at = excluded.at`),
  )

const make = (
  sql: SqlClient.SqlClient,
  trouble: Effect.Effect<string | undefined>,
): Health["Type"] => {
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

  return {
    stores: Effect.all([Migrations.applied, isDeleted, trouble]).pipe(
      Effect.map(([version, deleted, trouble]) => ({
        description: `${name}, schema ${version}`,
        isMigrated: version >= Migrations.newest,
        trouble: deleted ? fileDeleted : trouble,
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
    write: Effect.asVoid(Effect.mapError(writing(sql), Failure.describe)),
  }
}
