/** Runs an effect in virtual time: when every fiber sleeps, the clock jumps to the next wake-up. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scheduler from "effect/Scheduler"

interface Alarm {
  readonly at: number
  readonly ring: () => void
}

/**
 * Returns the value. Throws if the effect fails, or waits for something that never comes. Fibers
 * yield to each other after `operations`.
 */
export const runInVirtualTime = <A, E>(
  effect: Effect.Effect<A, E>,
  operations = Number.POSITIVE_INFINITY,
): A => {
  let now = 0
  const tasks: Array<() => void> = []
  const alarms: Array<Alarm> = []

  const scheduler: Scheduler.Scheduler = {
    scheduleTask: (task) => void tasks.push(task),
    shouldYield: ({ currentOpCount }) => (currentOpCount > operations ? 0 : false),
  }
  const set = (alarm: Alarm) => {
    const index = alarms.findLastIndex(({ at }) => at <= alarm.at)
    alarms.splice(index + 1, 0, alarm)
    return () => void alarms.splice(alarms.indexOf(alarm), alarms.includes(alarm) ? 1 : 0)
  }
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => now,
    unsafeCurrentTimeNanos: () => BigInt(Math.round(now * 1e6)),
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanos: Effect.sync(() => BigInt(Math.round(now * 1e6))),
    sleep: (duration) =>
      Effect.async<void>((resume) =>
        Effect.sync(
          set({ at: now + Duration.toMillis(duration), ring: () => resume(Effect.void) }),
        ),
      ),
  }

  const fiber = Effect.runFork(Effect.withClock(effect, clock), { scheduler })
  for (;;) {
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) task()
    const exit = fiber.unsafePoll()
    if (exit !== null)
      return Exit.getOrElse(exit, (cause) => {
        throw new Error(String(cause))
      })
    const alarm = alarms.shift()
    if (alarm === undefined) throw new Error("every fiber waits, and no alarm is set")
    now = Math.max(now, alarm.at)
    alarm.ring()
  }
}
