import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Failure from "./Failure.ts"

/**
 * Runs again what failed for a reason that may be gone: at once, and then as `schedule` says. Unlike
 * `Effect.retry` it prepares for that only when it happens: every commit passes by here, and of those
 * that pass hardly any fails.
 */
export const retry =
  (options: {
    readonly while: (error: unknown) => boolean
    readonly schedule: Schedule.Schedule<unknown>
  }) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.catchIf(effect, options.while, () => Effect.retry(effect, options))

/**
 * For how long statements run again after a lost connection. Longer than the request timeout's
 * default, so that a client gets its 503 first.
 */
export class Patience extends Context.Reference<Patience>()("authority/sql/Patience", {
  defaultValue: () => Duration.seconds(40),
}) {}

/**
 * Runs statements again that lost their connection, until the database is back. Only for statements
 * that may run twice, because only the answer to the first run may be lost.
 */
export const afterDisconnection = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.catchIf(effect, Failure.isDisconnection, () =>
    Effect.flatMap(Patience, (patience) =>
      Effect.retry(effect, {
        while: Failure.isDisconnection,
        schedule: Schedule.upTo(reconnection, patience),
      }),
    ),
  )

const reconnection = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("500 millis")),
  Schedule.jittered,
)
