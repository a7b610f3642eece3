import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { Deadline } from "./Deadline.ts"

/**
 * Makes an effect that cannot be interrupted from a function that calls back once. `deadline` is a
 * time of `MonotonicClock`.
 */
export const awaited = <A, E = never>(
  start: (callback: (exit: Exit.Exit<A, E>) => void, deadline: number) => void,
): Effect.Effect<A, E> =>
  Effect.flatMap(Deadline, (deadline) =>
    Effect.uninterruptible(Effect.async<A, E>((resume) => start(resume, deadline))),
  )
