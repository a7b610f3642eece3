/** A clock that a test can set back, as an operator or NTP does. */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"

/** `clock` follows the test clock. `putBack` sets back its time of day, but not its sleeps. */
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
