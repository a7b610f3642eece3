/**
 * Transactions as the client's own, but that they begin as their database likes it; that a COMMIT
 * that fails is a failure like any other, and leaves nothing open; and that nothing is done for a
 * span that nobody sees.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as FiberRef from "effect/FiberRef"

/** `run` runs a statement that has no parameters; `begin` is the first one. */
export const make = (
  sql: SqlClient.SqlClient,
  begin: string,
  run: (connection: Connection, statement: string) => Effect.Effect<unknown, SqlError>,
): SqlClient.SqlClient["withTransaction"] => {
  // The database may have rolled back by itself.
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

  /** The client's own, by a savepoint. */
  const nested = sql.withTransaction

  return (effect) =>
    Effect.flatMap(Effect.serviceOption(SqlClient.TransactionConnection), (transaction) =>
      Option.isNone(transaction) ? outermost(effect) : nested(effect),
    )
}

/** A span where a tracer listens: the empty one that Effect makes elsewhere is not free. */
const traced = <A, E, R>(transaction: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) =>
    fiber.getFiberRef(FiberRef.currentTracerEnabled)
      ? Effect.withSpan(transaction, "sql.transaction", { kind: "client" })
      : transaction,
  )
