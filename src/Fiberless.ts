/**
 * Effects that can do without a fiber. What is known already, or is told by a callback, can be handed
 * on by plain calls; and to nearly every request nothing else happens: its key is known, its body is
 * there, its figures are in memory, and the ledger calls back once the charge is on disk. A fiber for
 * that would cost as much as all of it.
 *
 * In a fiber they are effects like any other, and mean the same. `run` is the way without one. It has
 * nothing of what only a fiber has: no interruption, no context but that of its `Fork`, no spans.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"

/** Is called once, and must not throw. */
export type Callback<A, E> = (exit: Exit.Exit<A, E>) => void

/** Runs in a fiber what cannot do without. */
export type Fork<R> = <A, E>(effect: Effect.Effect<A, E, R>, callback: Callback<A, E>) => void

/** Runs as much as it can without a fiber; the rest, if there is any, in one. */
export const run = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  callback: Callback<A, E>,
  fork: Fork<R>,
): void => {
  if (isFiberless(effect)) effect.run(callback, fork)
  else if (isOver(effect)) callback(effect)
  else fork(effect, callback)
}

abstract class Fiberless<A, E, R> extends Effectable.Class<A, E, R> {
  abstract run(callback: Callback<A, E>, fork: Fork<R>): void
}

/** As `Exit.isExit`, which takes longer, for what it looks at may be anything. */
const isOver = <A, E, R>(self: Effect.Effect<A, E, R>): self is Exit.Exit<A, E> =>
  "_tag" in self && (self._tag === "Success" || self._tag === "Failure")

const isFiberless = <A, E, R>(self: Effect.Effect<A, E, R>): self is Fiberless<A, E, R> =>
  self instanceof Fiberless

/** What `register` resumes with, which it must do once; nobody can interrupt it. */
export const async = <A, E = never, R = never>(
  register: (resume: (effect: Effect.Effect<A, E, R>) => void) => void,
): Effect.Effect<A, E, R> => new Async(register)

class Async<A, E, R> extends Fiberless<A, E, R> {
  private readonly register: (resume: (effect: Effect.Effect<A, E, R>) => void) => void

  constructor(register: (resume: (effect: Effect.Effect<A, E, R>) => void) => void) {
    super()
    this.register = register
  }

  run(callback: Callback<A, E>, fork: Fork<R>) {
    this.register((effect) => run(effect, callback, fork))
  }

  commit() {
    return Effect.uninterruptible(Effect.async<A, E, R>((resume) => this.register(resume)))
  }
}

/** As `Effect.suspend`; in a fiber it is what `inFiber` makes of it. */
export const suspend = <A, E, R>(
  evaluate: () => Effect.Effect<A, E, R>,
  inFiber: (evaluate: () => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = Effect.suspend,
): Effect.Effect<A, E, R> => new Suspend(evaluate, inFiber)

class Suspend<A, E, R> extends Fiberless<A, E, R> {
  private readonly evaluate: () => Effect.Effect<A, E, R>
  private readonly inFiber: (evaluate: () => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

  constructor(
    evaluate: () => Effect.Effect<A, E, R>,
    inFiber: (evaluate: () => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>,
  ) {
    super()
    this.evaluate = evaluate
    this.inFiber = inFiber
  }

  run(callback: Callback<A, E>, fork: Fork<R>) {
    run(attempt(this.evaluate, undefined), callback, fork)
  }

  commit() {
    return this.inFiber(this.evaluate)
  }
}

/**
 * As `Effect.flatMap`; but what is known already goes on at once, when the effect is made, so that
 * belongs into a `suspend`.
 */
export const flatMap = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  f: (value: A) => Effect.Effect<B, E2, R2>,
): Effect.Effect<B, E | E2, R | R2> =>
  isFiberless(self)
    ? new Then(self, (exit) => goOn(exit, f))
    : isOver(self)
      ? goOn(self, f)
      : Effect.flatMap(self, f)

/** As `Effect.map`, and as `flatMap` here. */
export const map = <A, E, R, B>(
  self: Effect.Effect<A, E, R>,
  f: (value: A) => B,
): Effect.Effect<B, E, R> => flatMap(self, (value) => Exit.succeed(f(value)))

/** As `Effect.catchAll`, and as `flatMap` here. */
export const catchAll = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  f: (error: E) => Effect.Effect<B, E2, R2>,
): Effect.Effect<A | B, E2, R | R2> =>
  isFiberless(self)
    ? new Then(self, (exit) => mend(exit, f))
    : isOver(self)
      ? mend(self, f)
      : Effect.catchAll(self, f)

class Then<A, E, R, B, E2, R2> extends Fiberless<B, E2, R | R2> {
  private readonly self: Fiberless<A, E, R>
  private readonly next: (exit: Exit.Exit<A, E>) => Effect.Effect<B, E2, R2>

  constructor(self: Fiberless<A, E, R>, next: (exit: Exit.Exit<A, E>) => Effect.Effect<B, E2, R2>) {
    super()
    this.self = self
    this.next = next
  }

  run(callback: Callback<B, E2>, fork: Fork<R | R2>) {
    this.self.run((exit) => run(attempt(this.next, exit), callback, fork), fork)
  }

  commit() {
    return Effect.flatMap(Effect.exit(this.self), this.next)
  }
}

const goOn = <A, E, B, E2, R2>(
  exit: Exit.Exit<A, E>,
  f: (value: A) => Effect.Effect<B, E2, R2>,
): Effect.Effect<B, E | E2, R2> =>
  Exit.isSuccess(exit) ? f(exit.value) : Exit.failCause(exit.cause)

const mend = <A, E, B, E2, R2>(
  exit: Exit.Exit<A, E>,
  f: (error: E) => Effect.Effect<B, E2, R2>,
): Effect.Effect<A | B, E2, R2> =>
  Exit.isSuccess(exit)
    ? Exit.succeed(exit.value)
    : Either.match(Cause.failureOrCause(exit.cause), { onLeft: f, onRight: Exit.failCause })

/** What a fiber would make of what is thrown. */
const attempt = <I, A, E, R>(
  f: (input: I) => Effect.Effect<A, E, R>,
  input: I,
): Effect.Effect<A, E, R> => {
  try {
    return f(input)
  } catch (defect) {
    return Exit.die(defect)
  }
}
