/**
 * Replaces the SQL client's `withTransaction`, with four differences: each database has its own
 * BEGIN statement; a failed COMMIT is a typed failure and is rolled back; a transaction that
 * conflicts with another starts again; and a tracing span is created only when tracing is on.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { retryAfterConflict } from "./retry.ts"

/**
 * Makes a `withTransaction` for the client `sql`. `begin` is the statement that begins a
 * transaction. `run` executes a statement without parameters. The effect of a transaction may run
 * several times, so it must change nothing but the database.
 */
export const make = (
  sql: SqlClient.SqlClient,
  begin: string,
  run: (connection: Connection, statement: string) => Effect.Effect<unknown, SqlError>,
): SqlClient.SqlClient["withTransaction"] => {
  // The database may already have rolled back.
  const rollback = (connection: Connection) => Effect.ignore(run(connection, "ROLLBACK"))

  const runOn = <A, E, R>(connection: Connection, effect: Effect.Effect<A, E, R>) =>
    run(connection, begin).pipe(
      Effect.zipRight(
        Effect.exit(
          Effect.provideService(effect, SqlClient.TransactionConnection, [connection, 0]),
        ),
      ),
      Effect.flatMap((exit) =>
        Effect.zipRight(
          Exit.isSuccess(exit)
            ? Effect.tapError(run(connection, "COMMIT"), () => rollback(connection))
            : rollback(connection),
          exit,
        ),
      ),
    )

  const outermost = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    traced(
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Scope.make(), (scope) =>
          Scope.extend(sql.reserve, scope).pipe(
            Effect.flatMap((connection) => runOn(connection, restore(effect))),
            Effect.ensuring(Scope.close(scope, Exit.void)),
          ),
        ),
      ),
    )

  const nested = sql.withTransaction

  return (effect) =>
    Effect.flatMap(Effect.serviceOption(SqlClient.TransactionConnection), (transaction) =>
      Option.isNone(transaction) ? retryAfterConflict(outermost(effect)) : nested(effect),
    )
}

/**
 * Makes a connection that runs each statement in its own transaction, so that the time limits set
 * at BEGIN apply to every statement, and an interrupted statement keeps its connection until it has
 * ended.
 */
export const perStatement = (
  withTransaction: SqlClient.SqlClient["withTransaction"],
): Connection => {
  const run = <A>(statement: (connection: Connection) => Effect.Effect<A, SqlError>) =>
    Effect.serviceOptional(SqlClient.TransactionConnection).pipe(
      Effect.orDie,
      Effect.flatMap(([connection]) => statement(connection)),
      withTransaction,
    )
  return {
    execute: (...args) => run((connection) => connection.execute(...args)),
    executeRaw: (...args) => run((connection) => connection.executeRaw(...args)),
    executeUnprepared: (...args) => run((connection) => connection.executeUnprepared(...args)),
    executeValues: (...args) => run((connection) => connection.executeValues(...args)),
    executeStream: () => Stream.dieMessage("streams of rows are not used"),
  }
}

/** Without tracing, `Effect.withSpan` would waste time on an empty span. */
const traced = <A, E, R>(transaction: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) =>
    fiber.getFiberRef(FiberRef.currentTracerEnabled)
      ? Effect.withSpan(transaction, "sql.transaction", { kind: "client" })
      : transaction,
  )
