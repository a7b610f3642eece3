/** A clock whose time of day is put back in the middle of a test, as an operator or NTP does. */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"

/** `clock` runs with the test's clock; only its time of day is behind by what it was put back. */
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
    adjust: (by: Duration.DurationInput) => TestClock.adjust(by).pipe(Effect.withClock(testClock)),
  }
})
