/**
 * The port of the fast path `express/`: methods that can also be called without a fiber. Our own
 * layers add the other way to the method itself, so a method that somebody wraps does not have it.
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { Deadline } from "./Deadline.ts"

/** A method whose value may be there at once, such as a cached value. */
export interface Peekable<Args extends ReadonlyArray<unknown>, A, E = never> {
  (...args: Args): Effect.Effect<A, E>
  /** Returns the value if it is there at once, else undefined. */
  readonly peek?: (...args: Args) => A | undefined
}

export const peekable = <Args extends ReadonlyArray<unknown>, A, E = never>(
  peek: (...args: Args) => A | undefined,
  otherwise: (...args: Args) => Effect.Effect<A, E>,
): Peekable<Args, A, E> =>
  Object.assign(
    (...args: Args) =>
      Effect.suspend(() => {
        const value = peek(...args)
        return value === undefined ? otherwise(...args) : Effect.succeed(value)
      }),
    { peek },
  )

/** Maps the value of a method. */
export const map = <Args extends ReadonlyArray<unknown>, A, B, E>(
  method: Peekable<Args, A, E>,
  f: (value: A) => B,
): Peekable<Args, B, E> =>
  peekable(
    (...args) => {
      const value = method.peek?.(...args)
      return value === undefined ? undefined : f(value)
    },
    (...args) => Effect.map(method(...args), f),
  )

type Start<Args extends ReadonlyArray<unknown>, A, E> = (
  callback: (exit: Exit.Exit<A, E>) => void,
  deadline: number,
  ...args: Args
) => void

/** A method that waits in a queue and cannot be interrupted. */
export interface Queued<Args extends ReadonlyArray<unknown>, A, E = never> {
  (...args: Args): Effect.Effect<A, E>
  /** Calls `callback` once, which must not throw. `deadline` is a time of `MonotonicClock`. */
  readonly start?: Start<Args, A, E>
}

export const queued = <Args extends ReadonlyArray<unknown>, A, E = never>(
  start: Start<Args, A, E>,
): Queued<Args, A, E> =>
  Object.assign((...args: Args) => awaited<A, E>((...how) => start(...how, ...args)), { start })

/** Makes an effect that cannot be interrupted from a function that calls back. */
export const awaited = <A, E = never>(start: Start<[], A, E>): Effect.Effect<A, E> =>
  Effect.flatMap(Deadline, (deadline) =>
    Effect.uninterruptible(Effect.async<A, E>((resume) => start(resume, deadline))),
  )
