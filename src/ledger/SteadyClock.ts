/**
 * Tells when the wall clock can be trusted to delete by age: only after it has advanced like the
 * monotonic clock, within 5 s, for ten minutes of this process. A clock that was set is not steady.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as MonotonicClock from "../check/MonotonicClock.ts"

const toleranceMs = 5000
const windowMs = 10 * 60_000

/** Makes an effect to run before each deletion by age. True when the clock is steady. */
export const make = (): Effect.Effect<boolean> => {
  let reference: number | undefined
  let since = 0
  return Effect.zipWith(Clock.currentTimeMillis, MonotonicClock.now, (wall, monotonic) => {
    const offset = wall - monotonic
    if (reference === undefined || Math.abs(offset - reference) > toleranceMs) {
      reference = offset
      since = monotonic
    }
    return monotonic - since >= windowMs
  })
}
