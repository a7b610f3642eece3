/** Helpers for database accesses that a lookup can do without. */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

type Log = (cause: Cause.Cause<unknown>) => Effect.Effect<void>

/**
 * Returns a function that logs an effect's failure, but only the first in a row: it logs again only
 * after a success. An interruption counts as neither.
 */
export const logOnce = (log: Log) => {
  let isFailing = false
  return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    effect.pipe(
      Effect.tap(() => Effect.sync(() => void (isFailing = false))),
      Effect.tapErrorCause((cause) => {
        if (isFailing || Cause.isInterruptedOnly(cause)) return Effect.void
        isFailing = true
        return log(cause)
      }),
    )
}

/** Like `logOnce`, but a failure becomes none. */
export const tolerant = (log: Log) => {
  const logged = logOnce(log)
  return <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<Option.Option<A>> =>
    logged(effect).pipe(
      Effect.asSome,
      Effect.catchAllCause(() => Effect.succeedNone),
    )
}

/** Stops waiting for an access that takes too long. The access may end later, in the background. */
export const inTime = <A, E>(access: Effect.Effect<A, E>, duration: Duration.DurationInput) =>
  Effect.timeout(Effect.disconnect(access), duration)
