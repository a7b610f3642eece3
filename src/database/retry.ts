/** Retries database statements after conflicts, locks and lost connections. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Failure from "./Failure.ts"

/**
 * Repeats a transaction or a single statement after a serialization failure or a deadlock, for up
 * to 10 seconds. `withTransaction` and single statements on PostgreSQL already do this, so a store
 * need not.
 */
export const retryAfterConflict = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  // `Effect.retry` would cost more than a small transaction, even without a conflict.
  Effect.catchIf(effect, Failure.isConflict, () =>
    Effect.retry(effect, { while: Failure.isConflict, schedule: afterConflict }),
  )

/** Waits a random, growing time, so that two processes do not conflict again. */
const afterConflict = Schedule.exponential("5 millis", 1.5).pipe(
  Schedule.union(Schedule.spaced("250 millis")),
  Schedule.jittered,
  Schedule.upTo("10 seconds"),
)

/**
 * How long statements are retried after a lost connection. `authority serve` changes this limit.
 */
export class ReconnectLimit extends Context.Reference<ReconnectLimit>()(
  "authority/sql/ReconnectLimit",
  { defaultValue: (): Limit => ({ limit: Duration.seconds(1) }) },
) {}

interface Limit {
  readonly limit: Duration.Duration
  /** Returns true to end the retries before `limit` has passed. The first retry is always made. */
  readonly isOver?: Effect.Effect<boolean>
}

/**
 * Makes a function that retries after a lost connection until the ReconnectLimit, which it reads
 * only now, because the fibers of requests do not have it. Use it only for statements that can run
 * twice without harm: the first run may have succeeded although its answer was lost.
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
