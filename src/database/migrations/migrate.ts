/**
 * Migrates the tables to the newest schema. Only one process migrates at a time: the one that holds
 * the lock, a row with a lease in the table `migration_lock`. If it dies, the lock becomes free
 * when the lease ends. Distributed engines do not support LOCK TABLE and advisory locks, but
 * support a row.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { v7 as uuid } from "uuid"
import { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "../Failure.ts"
import { databaseTime } from "../rows/dialects.ts"
import { steps } from "./migrationSteps.ts"

/** The number of the newest migration that this program knows. */
export const newest = Math.max(...steps.map(({ id }) => id))

/** The number of the migration that creates a new database. */
const first = Math.min(...steps.map(({ id }) => id))

const Applied = Schema.Struct({ newest: Schema.NullOr(Schema.Int) })

/**
 * The number of the newest migration that was applied to the database; 0 when there is none. Fails
 * when the table of migrations does not exist.
 */
export const applied = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  SqlSchema.single({
    Request: Schema.Void,
    Result: Applied,
    execute: () => sql`SELECT MAX(migration_id) AS newest FROM effect_sql_migrations`,
  })(undefined),
).pipe(Effect.map(({ newest }) => newest ?? 0))

/** Creates the table of migrations, as earlier versions did. */
const createTable = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.withTransaction(
    sql.onDialectOrElse({
      sqlite: () => sql`
        CREATE TABLE IF NOT EXISTS effect_sql_migrations (
          migration_id INTEGER PRIMARY KEY NOT NULL,
          created_at DATETIME NOT NULL DEFAULT current_timestamp,
          name VARCHAR(255) NOT NULL
        )`,
      orElse: () => sql`
        CREATE TABLE IF NOT EXISTS effect_sql_migrations (
          migration_id INTEGER PRIMARY KEY,
          created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
          name TEXT NOT NULL
        )`,
    }),
  ),
)

/** How long the lock stays taken after the last step of a process that died. */
const leaseMs = 5_000

/** Another process took the lock after the lease had ended. */
export class LockLost extends Data.TaggedError("LockLost") {
  override get message() {
    return "another process took the migration lock"
  }
}

type MigrationLock = Effect.Effect.Success<typeof makeLock>

/**
 * Makes the lock of one process. `take` takes the lock or extends this process's lease, and returns
 * false when another process holds it. `extend` extends the lease in the transaction of a step:
 * while that transaction is open, no other process can take the lock.
 */
export const makeLock = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const owner = uuid()
  yield* sql`
      CREATE TABLE IF NOT EXISTS migration_lock (
        id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
        owner TEXT NOT NULL,
        expires_at BIGINT NOT NULL
      )`.pipe(sql.withTransaction)
  const now = databaseTime(sql)
  const leaseEnd = sql.literal(`${now} + ${leaseMs}`)

  return {
    take: sql`
        INSERT INTO migration_lock (id, owner, expires_at) VALUES (1, ${owner}, ${leaseEnd})
        ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
        WHERE migration_lock.expires_at <= ${sql.literal(now)}
          OR migration_lock.owner = excluded.owner
        RETURNING owner`.pipe(
      sql.withTransaction,
      Effect.map((taken) => taken.length > 0),
      // The statement waited for a long step of the process that holds the lock.
      Effect.catchIf(Failure.isTooSlow, () => Effect.succeed(false)),
    ),
    extend: sql`
        UPDATE migration_lock SET expires_at = ${leaseEnd} WHERE owner = ${owner}
        RETURNING owner`.pipe(
      Effect.filterOrFail(
        (extended) => extended.length > 0,
        () => new LockLost(),
      ),
      Effect.asVoid,
    ),
    release: sql`DELETE FROM migration_lock WHERE owner = ${owner}`.pipe(
      sql.withTransaction,
      Effect.asVoid,
    ),
  }
})

// Applies one migration and records it in the same transaction. Skips a migration that another
// process has applied, which can happen when this process was paused for longer than its lease.
const apply = (lock: MigrationLock, { change, id, name }: (typeof steps)[number]) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.gen(function* () {
      yield* lock.extend
      const recorded = yield* sql`
        INSERT INTO effect_sql_migrations (migration_id, name) VALUES (${id}, ${name})
        ON CONFLICT (migration_id) DO NOTHING RETURNING migration_id`
      if (recorded.length > 0) yield* change
    }).pipe(sql.withTransaction),
  )

// Waits until this process holds the lock or another process has migrated the database.
const lockOrDone = (lock: MigrationLock) =>
  Effect.gen(function* () {
    if (yield* lock.take) return
    yield* Effect.logInfo("Another process is migrating the database; waiting for it to finish.")
    yield* Effect.repeat(
      Effect.flatMap(applied, (version) => (version >= newest ? Effect.succeed(true) : lock.take)),
      { until: (isOver) => isOver, schedule: Schedule.spaced("100 millis") },
    )
  })

const applyDue = Effect.flatMap(makeLock, (lock) =>
  Effect.gen(function* () {
    yield* lockOrDone(lock)
    const version = yield* applied
    const due = steps.filter(({ id }) => id > version)
    yield* Effect.forEach(due, (step) => apply(lock, step), { discard: true })
  }).pipe(Effect.ensuring(Effect.ignore(lock.release))),
)

const repeated = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(
    Effect.catchAllDefect(Effect.fail),
    Effect.retry({ times: 4, schedule: Schedule.exponential("50 millis") }),
  )

const isOlder = (version: number) =>
  `the database is of an older version (schema ${version}) than this program (schema ${newest})`

/** Fails when no step leads from the database's schema to this program's. 0 is a new database. */
const refuseTooOld = (version: number) =>
  version === 0 || version >= first
    ? Effect.void
    : new StoreFailure({
        message: `${isOlder(version)}; run 'authority migrate' of version 1.1.0 on it first`,
      })

/** Applies the pending migrations. Returns the previous schema version. */
const migrate = repeated(createTable).pipe(
  Effect.zipRight(applied),
  Effect.tap(refuseTooOld),
  Effect.zipLeft(repeated(applyDue)),
)

// True when the newest migration was applied, so that the start needs no migration lock. This SQL
// must differ from that of `applied`: if the table is missing, the SQLite client caches the error
// for this text, and would return it to `applied` even after the table was created.
const isDone = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`SELECT 1 FROM effect_sql_migrations WHERE migration_id >= ${newest} LIMIT 1`,
).pipe(
  Effect.map((rows) => rows.length > 0),
  Effect.catchAll((error) => (Failure.isForbidden(error) ? error : Effect.succeed(false))),
)

// Describes an error of the migration. If the database role has no right to migrate an older
// schema, the message says so.
const explain = (error: unknown) =>
  Effect.orElseSucceed(applied, () => 0).pipe(
    Effect.tap(refuseTooOld),
    Effect.flatMap((version) =>
      Failure.isForbidden(error) && version > 0
        ? new StoreFailure({
            message: `the database has schema ${version}, but this program needs schema ${newest}, and the database role has no right to migrate the database; to migrate, set AUTHORITY_DATABASE_URL to a connection string with the role that owns the tables, and run 'authority migrate' (${Failure.wordsOf(error)})`,
            cause: error,
          })
        : Failure.describe(error),
    ),
  )

export const isRunning: Effect.Effect<boolean, never, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`SELECT 1 FROM migration_lock WHERE expires_at > ${sql.literal(databaseTime(sql))}`,
).pipe(
  Effect.map((rows) => rows.length > 0),
  Effect.orElseSucceed(() => false),
)

/** Fails with StoreFailure when the database's schema is older or newer than this program's. */
export const required = Effect.tap(applied, refuseTooOld).pipe(
  Effect.flatMap((version) =>
    version === newest
      ? Effect.void
      : new StoreFailure({
          message:
            version < newest
              ? `${isOlder(version)}; update the service, which migrates the database, or run 'authority migrate'`
              : `the database is of a newer version (schema ${version}) than this program (schema ${newest}); update the program, or restore a backup from before the update`,
        }),
  ),
  Effect.mapError(Failure.describe),
)

/**
 * Migrates the database to the newest schema and returns the previous version. Fails with
 * StoreFailure when the database is newer than the program. When several processes start at once,
 * one migrates while the others wait. On a new database, two of them may create the first table at
 * once: one of them then fails and retries.
 */
export const run = Effect.unlessEffect(Effect.catchAll(migrate, explain), isDone).pipe(
  Effect.zipLeft(required),
  Effect.mapBoth({
    onSuccess: Option.getOrElse(() => newest),
    onFailure: Failure.describe,
  }),
)

export const layer = Layer.effectDiscard(run)
