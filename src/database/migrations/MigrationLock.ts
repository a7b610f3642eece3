/**
 * The lock of the process that migrates the database: one row with a lease, in the table
 * `migration_lock`. Distributed engines refuse LOCK TABLE and advisory locks, but not a row. If the
 * process dies, the lock is free when the lease is over. The database's clock measures the lease.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { v7 as uuid } from "uuid"
import { databaseTime } from "../rows/databaseTime.ts"
import * as Failure from "../Failure.ts"

/** How long the lock stays taken after the last step of a process that died. */
const leaseMs = 5_000

/** The lease was over, and another process took the lock. */
export class LockLost extends Data.TaggedError("LockLost") {
  override get message() {
    return "another process took the migration lock"
  }
}

export interface MigrationLock {
  /**
   * Takes the lock, or extends the lease of this process. Returns false when another process holds
   * the lock.
   */
  readonly take: Effect.Effect<boolean, SqlError>
  /**
   * Extends the lease in the transaction of a step. While the transaction is open, no other process
   * can take the lock.
   */
  readonly extend: Effect.Effect<void, SqlError | LockLost>
  /** Ends the lease of this process. */
  readonly release: Effect.Effect<void, SqlError>
}

/** Makes the lock of one process. Fails when the table `migration_lock` cannot be created. */
export const make: Effect.Effect<MigrationLock, SqlError, SqlClient.SqlClient> = Effect.gen(
  function* () {
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
  },
)

/** Returns true when a process holds the lock at the moment. */
export const isTaken: Effect.Effect<boolean, never, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`SELECT 1 FROM migration_lock WHERE expires_at > ${sql.literal(databaseTime(sql))}`,
).pipe(
  Effect.map((rows) => rows.length > 0),
  Effect.orElseSucceed(() => false),
)
