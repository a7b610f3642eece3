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

/** For how long statements run again after a lost connection. The service sets it, verbs do not. */
export class Patience extends Context.Reference<Patience>()("authority/sql/Patience", {
  defaultValue: (): Limits => ({ limit: Duration.seconds(1) }),
}) {}

interface Limits {
  readonly limit: Duration.Duration
  /** Ends the wait at once; the statements have then run again at least once. */
  readonly isOver?: () => boolean
}

/**
 * Runs statements again that lost their connection, until the database is back. Only for statements
 * that may run twice, because only the answer to the first run may be lost.
 */
export const afterDisconnection = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.catchIf(effect, Failure.isDisconnection, () =>
    Effect.flatMap(Patience, (limits) => again(effect, limits)),
  )

/** `afterDisconnection` for the methods of a layer, with the patience that the layer is built with. */
export const patiently = Effect.map(
  Patience,
  (limits) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.catchIf(effect, Failure.isDisconnection, () => again(effect, limits)),
)

const again = <A, E, R>(effect: Effect.Effect<A, E, R>, { isOver = never, limit }: Limits) =>
  Effect.retry(effect, {
    while: (error) => Failure.isDisconnection(error) && !isOver(),
    schedule: Schedule.upTo(reconnection, limit),
  })

const never = () => false

const reconnection = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("500 millis")),
  Schedule.jittered,
)
