/** Retries of database statements: after conflicts and locks, and after lost connections. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Failure from "./Failure.ts"

/**
 * Runs a transaction or a single statement again after a serialization failure or a deadlock, for
 * up to 10 seconds. `withTransaction` and the single statements on PostgreSQL use it, so a store
 * does not.
 */
export const retryAfterConflict = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  // Without a conflict, `Effect.retry` would cost more than a small transaction.
  Effect.catchIf(effect, Failure.isConflict, () =>
    Effect.retry(effect, { while: Failure.isConflict, schedule: afterConflict }),
  )

/** The back-off after a conflict, with jitter, so that two processes do not conflict again. */
const afterConflict = Schedule.exponential("5 millis", 1.5).pipe(
  Schedule.union(Schedule.spaced("250 millis")),
  Schedule.jittered,
  Schedule.upTo("10 seconds"),
)

/** How long statements are retried after a lost connection. `authority serve` sets its own limit. */
export class ReconnectLimit extends Context.Reference<ReconnectLimit>()(
  "authority/sql/ReconnectLimit",
  { defaultValue: (): Limit => ({ limit: Duration.seconds(1) }) },
) {}

interface Limit {
  readonly limit: Duration.Duration
  /** True to end the retries before `limit` has passed. The first retry is always made. */
  readonly isOver?: Effect.Effect<boolean>
}

/**
 * Makes a function that retries after a lost connection until the ReconnectLimit, which it reads
 * once: the fibers of requests do not have the limit. Use it only for statements that can run twice
 * without harm: the first run may have succeeded although its answer was lost.
 */
export const makeRetryAfterDisconnection = Effect.map(
  ReconnectLimit,
  ({ isOver = Effect.succeed(false), limit }) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.catchIf(effect, Failure.isDisconnection, () =>
        Effect.retry(effect, {
          while: (error) =>
            Failure.isDisconnection(error) ? Effect.negate(isOver) : Effect.succeed(false),
          schedule: Schedule.upTo(reconnection, limit),
        }),
      ),
)

const reconnection = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("500 millis")),
  Schedule.jittered,
)
