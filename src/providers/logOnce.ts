import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

/**
 * Makes a function that logs the failure of an effect: the first one, and the next one only after a
 * success. An interruption is neither.
 */
export const logOnce = (log: (cause: Cause.Cause<unknown>) => Effect.Effect<void>) => {
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
