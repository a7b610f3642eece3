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
  Effect.retry(effect, { while: Failure.isConflict, schedule: afterConflict })

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
 * Retries after a lost connection until the ReconnectLimit. Use it only for statements that can run
 * twice without harm: the first run may have succeeded although its answer was lost.
 */
export const retryAfterDisconnection = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> => retryWithin(ReconnectLimit)(effect)

/**
 * Makes a `retryAfterDisconnection` that reads the ReconnectLimit once, not at each call. Stores
 * need it, because the fibers of requests do not have the limit.
 */
export const makeRetryAfterDisconnection = Effect.map(ReconnectLimit, (limit) =>
  retryWithin(Effect.succeed(limit)),
)

const retryWithin =
  (limits: Effect.Effect<Limit>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.catchIf(effect, Failure.isDisconnection, () =>
      Effect.flatMap(limits, ({ isOver = never, limit }) =>
        Effect.retry(effect, {
          while: (error) =>
            Failure.isDisconnection(error) ? Effect.negate(isOver) : Effect.succeed(false),
          schedule: Schedule.upTo(reconnection, limit),
        }),
      ),
    )

const never = Effect.succeed(false)

const reconnection = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("500 millis")),
  Schedule.jittered,
)
