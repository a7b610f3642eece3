import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as MonotonicClock from "./MonotonicClock.ts"

/**
 * The deadline of the current request, in milliseconds of `MonotonicClock`; infinite outside of a
 * request. At the deadline, a provider returns the outcomes that are ready.
 */
export class Deadline extends Context.Reference<Deadline>()("authority/Deadline", {
  defaultValue: () => Number.POSITIVE_INFINITY,
}) {}

/** How long after the deadline a provider may still return its outcomes, in milliseconds. */
export const lookupGraceMs = 500

/** How long after the deadline a request's last commit may end, in milliseconds. */
export const commitGraceMs = 1000

/**
 * Waits for the result of an effect until `time`, in milliseconds of `MonotonicClock`. If the
 * effect has not ended by then, returns none and leaves it running in the background.
 */
export const waitUntil =
  (time: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    time === Number.POSITIVE_INFINITY
      ? Effect.asSome(effect)
      : Effect.gen(function* () {
          const fiber = yield* Effect.forkDaemon(effect)
          const now = yield* MonotonicClock.now
          // Otherwise an uninterruptible caller would wait past `time`.
          const result = Effect.interruptible(Fiber.join(fiber))
          return yield* Effect.timeoutOption(result, Math.max(0, time - now))
        })

/** The milliseconds until the deadline: negative after it, infinite outside of a request. */
export const remainingMs: Effect.Effect<number> = Effect.zipWith(
  Deadline,
  MonotonicClock.now,
  (deadline, now) => deadline - now,
)

/** Runs the effect with a deadline `ms` milliseconds from now. */
export const within =
  (ms: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(MonotonicClock.now, (now) => Effect.provideService(effect, Deadline, now + ms))
