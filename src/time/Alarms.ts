/**
 * Calls functions at given times. All alarms share one timer in one fiber, because a timer and a
 * race for each request cost a fifth of the processor time of a request.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as MonotonicClock from "./MonotonicClock.ts"

export interface Alarms {
  /**
   * Calls `ring` at the time `at` of `MonotonicClock`, unless the returned function is called
   * before.
   */
  readonly set: (at: number, ring: () => void) => () => void
}

/** Makes alarms that ring until the scope closes. */
export const make: Effect.Effect<Alarms, never, Scope.Scope> = Effect.gen(function* () {
  const alarms = new Set<{ readonly at: number; readonly ring: () => void }>()
  /** When the timer fires. Infinite when no timer is set. */
  let soonest = Number.POSITIVE_INFINITY
  const hasSooner = yield* Effect.makeLatch(false)

  const turn = Effect.gen(function* () {
    const now = yield* MonotonicClock.now
    hasSooner.unsafeClose()
    soonest = Number.POSITIVE_INFINITY
    for (const alarm of alarms) {
      if (alarm.at > now) soonest = Math.min(soonest, alarm.at)
      else {
        alarms.delete(alarm)
        alarm.ring()
      }
    }
    yield* Number.isFinite(soonest)
      ? Effect.timeoutOption(hasSooner.await, soonest - now)
      : hasSooner.await
  })
  yield* Effect.forkScoped(Effect.forever(turn))

  return {
    set: (at, ring) => {
      const alarm = { at, ring }
      alarms.add(alarm)
      if (at < soonest) hasSooner.unsafeOpen()
      return () => alarms.delete(alarm)
    },
  }
})

/**
 * Waits for the effect until the time `at` of `MonotonicClock`, then continues with `otherwise`. An
 * effect that was given up is interrupted in the background, and ends when it can.
 */
export const until =
  <B, F>({ set }: Alarms, at: number, otherwise: Effect.Effect<B, F>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A | B, E | F, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.forkDaemon(Effect.interruptible(effect)), (fiber) =>
        restore(
          Effect.async<A | B, E | F>((resume) => {
            const end = (exit: Exit.Exit<A, E>) => {
              cancel()
              resume(exit)
            }
            const cancel = set(at, () => {
              fiber.removeObserver(end)
              fiber.unsafeInterruptAsFork(FiberId.none)
              resume(otherwise)
            })
            fiber.addObserver(end)
            return Effect.suspend(() => {
              cancel()
              return Fiber.interruptFork(fiber)
            })
          }),
        ),
      ),
    )
