import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"

/**
 * When the present request must have its answer, in epoch milliseconds. A provider that waits for
 * several things at once gives what it has by then; without a request there is no deadline.
 */
export class Deadline extends Context.Reference<Deadline>()("authority/Deadline", {
  defaultValue: () => Number.POSITIVE_INFINITY,
}) {}

/** How long past the deadline a provider may take to return what it has, in milliseconds. */
export const lookupGraceMs = 500

/** How long past the deadline the last commit of a request may take, in milliseconds. */
export const commitGraceMs = 1000

/**
 * Waits for an effect until a time in epoch milliseconds, and returns none after that. The effect
 * then goes on in the background.
 */
export const waitUntil =
  (time: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    time === Number.POSITIVE_INFINITY
      ? Effect.asSome(effect)
      : Effect.gen(function* () {
          const fiber = yield* Effect.forkDaemon(effect)
          const now = yield* Clock.currentTimeMillis
          // Where the caller cannot be interrupted, the wait can.
          const result = Effect.interruptible(Fiber.join(fiber))
          return yield* Effect.timeoutOption(result, Math.max(0, time - now))
        })

/**
 * Milliseconds until the deadline; below 0 after it, infinite without one. Whoever waits reads it
 * once, at the start, so that a clock which is set meanwhile makes nobody wait longer.
 */
export const remainingMs: Effect.Effect<number> = Effect.zipWith(
  Deadline,
  Clock.currentTimeMillis,
  (deadline, now) => deadline - now,
)

/** Runs the effect with a deadline so many milliseconds from now. */
export const within =
  (ms: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.provideService(effect, Deadline, now + ms),
    )
