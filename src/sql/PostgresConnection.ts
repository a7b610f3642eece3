/**
 * How the SQL client runs statements on the driver's pool. The connections of @effect/sql-pg differ
 * in one point: when a fiber is interrupted, they ask the server to cancel its statement, on another
 * connection of the pool. If that request waits for a free connection, it arrives late and cancels
 * a later statement of another fiber. These connections never cancel: a time limit ends each
 * statement.
 */
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Pg from "pg"
import { retryAfterConflict } from "./retry.ts"

/** Runs each statement on any connection of the pool, and again after a conflict. */
export const ofPool = (pool: Pg.Pool): Connection =>
  connectionOf((statement) =>
    retryAfterConflict(
      Effect.async((resume) => {
        let isWanted = true
        checkOut(pool, (checkedOut) => {
          if (checkedOut instanceof SqlError) return resume(Effect.fail(checkedOut))
          const { client, release } = checkedOut
          if (!isWanted) return release()
          // After an interrupt, the connection stays checked out until the statement has ended.
          query(client, statement, (result) => {
            release()
            resume(result)
          })
        })
        return Effect.sync(() => {
          isWanted = false
        })
      }),
    ),
  )

/** Reserves a connection for a transaction until the scope closes. */
export const reserve = (pool: Pg.Pool): Effect.Effect<Connection, SqlError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<CheckedOut, SqlError>((resume) =>
      checkOut(pool, (checkedOut) =>
        resume(
          checkedOut instanceof SqlError ? Effect.fail(checkedOut) : Effect.succeed(checkedOut),
        ),
      ),
    ),
    ({ release }) => Effect.sync(release),
  ).pipe(
    Effect.map(({ client }) =>
      connectionOf((statement) =>
        // The transaction rolls back after the statement, on the same connection.
        Effect.uninterruptible(Effect.async((resume) => query(client, statement, resume))),
      ),
    ),
  )

interface CheckedOut {
  readonly client: Pg.PoolClient
  /** Gives the connection back to the pool, which closes it if it broke. */
  readonly release: () => void
}

const checkOut = (pool: Pg.Pool, callback: (checkedOut: CheckedOut | SqlError) => void) =>
  pool.connect((cause, client, release) => {
    if (client === undefined) {
      return callback(new SqlError({ cause, message: "Failed to acquire connection" }))
    }
    let broken: Error | undefined
    const onError = (error: Error) => {
      broken = error
    }
    // Without a listener, the event would end the process.
    client.on("error", onError)
    callback({
      client,
      release: () => {
        client.off("error", onError)
        release(broken)
      },
    })
  })

interface Statement {
  readonly text: string
  readonly values: Array<unknown>
  readonly rowMode?: "array"
}

type Result = Effect.Effect<Pg.QueryResult, SqlError>

const query = (client: Pg.PoolClient, statement: Statement, callback: (result: Result) => void) =>
  client.query(statement, (cause: Error | null, result: Pg.QueryResult) =>
    callback(
      cause === null || cause === undefined
        ? Effect.succeed(result)
        : Effect.fail(new SqlError({ cause, message: "Failed to execute statement" })),
    ),
  )

const connectionOf = (run: (statement: Statement) => Result): Connection => {
  const execute: Connection["execute"] = (text, values, transform) =>
    Effect.map(run({ text, values: [...values] }), (result) => {
      // Several statements in one text have an array of results, which no caller reads.
      const rows = Array.isArray(result) ? [] : result.rows
      return transform === undefined ? rows : transform(rows)
    })
  return {
    execute,
    executeUnprepared: execute,
    executeRaw: (text, values) => run({ text, values: [...values] }),
    executeValues: (text, values) =>
      Effect.map(run({ text, values: [...values], rowMode: "array" }), ({ rows }) => rows),
    executeStream: () => Stream.dieMessage("streams of rows are not used"),
  }
}
