/**
 * Milliseconds on a clock that nobody sets, for spans of time within one process. Times that are
 * stored, or shared with other processes, are epoch milliseconds of `Clock.currentTimeMillis`.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

const toMs = (nanos: bigint) => Number(nanos / 1_000_000n)

/** For code without a fiber. */
export const unsafeNow = (clock: Clock.Clock): number => toMs(clock.unsafeCurrentTimeNanos())

export const now: Effect.Effect<number> = Effect.map(Clock.currentTimeNanos, toMs)
