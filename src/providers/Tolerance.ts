/**
 * Access to a store that may fail or be slow. After a failure or timeout, the store is skipped for
 * some seconds, so a bad store delays few requests.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Alarms from "../time/Alarms.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"

export interface Options {
  readonly alarms: Alarms.Alarms
  readonly timeoutMs: number
  /** Logs a failure or timeout. */
  readonly warn: (cause: Cause.Cause<unknown>) => Effect.Effect<void>
}

/** Returns the result of an access, or `otherwise` when the store fails or is skipped. */
export type Tolerance = <A, E, B>(access: Effect.Effect<A, E>, otherwise: B) => Effect.Effect<A | B>

export const make = ({ alarms, timeoutMs, warn }: Options): Tolerance => {
  let restsUntil = Number.NEGATIVE_INFINITY
  return (access, otherwise) =>
    Effect.flatMap(MonotonicClock.now, (now) =>
      now < restsUntil
        ? Effect.succeed(otherwise)
        : // An access that is given up ends by itself. The driver of PostgreSQL would cancel it on a
          // connection that may run another statement by then.
          Effect.uninterruptible(access).pipe(
            Alarms.until(alarms, now + timeoutMs, new Cause.TimeoutException()),
            Effect.catchAllCause((cause) => {
              restsUntil = now + restMs
              return Effect.as(warn(cause), otherwise)
            }),
          ),
    )
}

/** Runs an access to its end or its timeout, also in a finalizer, where nothing can be interrupted. */
export const inDaemon = (effect: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.interruptible(effect).pipe(
    Effect.forkDaemon,
    Effect.flatMap(Fiber.join),
    Effect.uninterruptible,
  )

/** How long the store is skipped after a failure, in milliseconds. */
const restMs = 5000
