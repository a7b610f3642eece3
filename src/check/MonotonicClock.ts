/**
 * A monotonic clock in milliseconds, for durations within one process. Times that are stored or
 * shared with other processes are epoch milliseconds from `Clock.currentTimeMillis` instead.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

const toMs = (nanos: bigint) => Number(nanos) / 1e6

/** Like `now`, for code that does not run in a fiber. */
export const unsafeNow = (clock: Clock.Clock): number => toMs(clock.unsafeCurrentTimeNanos())

/** The milliseconds since an arbitrary time. Two readings give a duration. */
export const now: Effect.Effect<number> = Effect.map(Clock.currentTimeNanos, toMs)

const toleranceMs = 5000
const windowMs = 10 * 60_000

/**
 * Makes an effect that returns true when the wall clock can be trusted to delete by age: for ten
 * minutes of this process, it has kept within 5 s of the monotonic clock. Whenever the wall clock
 * is set, the ten minutes begin again.
 */
export const makeIsWallClockSteady = (): Effect.Effect<boolean> => {
  let reference: number | undefined
  let since = 0
  return Effect.zipWith(Clock.currentTimeMillis, now, (wall, monotonic) => {
    const offset = wall - monotonic
    if (reference === undefined || Math.abs(offset - reference) > toleranceMs) {
      reference = offset
      since = monotonic
    }
    return monotonic - since >= windowMs
  })
}
