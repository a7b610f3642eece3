/** A clock that a test can set back or forward, as an operator or NTP may do. */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"

/** `clock` follows the test clock. Only its time of day is set back or forward, not its sleeps. */
export const settable = Effect.map(Effect.clock, (testClock) => {
  let behindMs = 0
  const unsafeCurrentTimeMillis = () => testClock.unsafeCurrentTimeMillis() - behindMs
  const clock: Clock.Clock = {
    ...testClock,
    unsafeCurrentTimeMillis,
    currentTimeMillis: Effect.sync(unsafeCurrentTimeMillis),
    unsafeCurrentTimeNanos: () => testClock.unsafeCurrentTimeNanos(),
    sleep: (duration) => testClock.sleep(duration),
  }
  return {
    clock,
    putBack: (by: Duration.DurationInput) => void (behindMs += Duration.toMillis(by)),
    putForward: (by: Duration.DurationInput) => void (behindMs -= Duration.toMillis(by)),
    adjust: (by: Duration.DurationInput) => TestClock.adjust(by).pipe(Effect.withClock(testClock)),
  }
})
