/**
 * A monotonic clock in milliseconds, for durations within one process. Times that are stored or
 * shared with other processes are epoch milliseconds from `Clock.currentTimeMillis`.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

const toMs = (nanos: bigint) => Number(nanos) / 1e6

/** Like `now`, for code without a fiber. */
export const unsafeNow = (clock: Clock.Clock): number => toMs(clock.unsafeCurrentTimeNanos())

/** Reads the clock: milliseconds since an arbitrary time. Two readings give a duration. */
export const now: Effect.Effect<number> = Effect.map(Clock.currentTimeNanos, toMs)
