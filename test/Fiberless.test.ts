import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Fiberless from "../src/Fiberless.ts"

type Program = Effect.Effect<number, string>

/** Tells the value in a later turn of the event loop. */
const later = <A, E = never>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Fiberless.async((resume) => {
    setImmediate(() => resume(effect))
  })

const thrown = (): never => {
  throw new Error("thrown")
}

const succ = (n: number) => Exit.succeed(n + 1)

const programs: Readonly<Record<string, Program>> = {
  "a value": Effect.succeed(1),
  "a failure": Effect.fail("no"),
  "what is told at once": Fiberless.async<number>((resume) => resume(Effect.succeed(1))),
  "what is told later": later(Effect.succeed(1)),
  "a failure that is told later": later(Effect.fail("no")),
  "a suspended value": Fiberless.suspend(() => Effect.succeed(1)),
  "a suspended one that throws": Fiberless.suspend(thrown),
  "one after a value": Fiberless.flatMap(Effect.succeed(1), succ),
  "one after another": Fiberless.flatMap(Fiberless.flatMap(later(Effect.succeed(1)), succ), succ),
  "one after a failure": Fiberless.flatMap(later(Effect.fail("no")), succ),
  "one that throws": Fiberless.flatMap(later(Effect.succeed(1)), thrown),
  "another value": Fiberless.map(later(Effect.succeed(1)), (n) => n + 1),
  "another value that throws": Fiberless.map(later(Effect.succeed(1)), thrown),
  "a failure that is mended": Fiberless.catchAll(later(Effect.fail("no")), ({ length }) =>
    Effect.succeed(length),
  ),
  "a known failure that is mended": Fiberless.catchAll(Effect.fail("no"), ({ length }) =>
    Effect.succeed(length),
  ),
  "nothing to mend": Fiberless.catchAll(later(Effect.succeed(1)), () => Effect.succeed(2)),
  "a failure that is mended in vain": Fiberless.catchAll(later(Effect.fail("no")), (no) =>
    Effect.fail(`${no}!`),
  ),
  "a defect, which nobody mends": Fiberless.catchAll(later(Effect.die("defect")), () =>
    Effect.succeed(2),
  ),
}

/** These end in a fiber. */
const inNeed: Readonly<Record<string, Program>> = {
  "an effect like any other": Effect.map(Effect.yieldNow(), () => 1),
  "one after an effect like any other": Fiberless.flatMap(
    Effect.map(Effect.yieldNow(), () => 1),
    succ,
  ),
  "an effect like any other after one": Fiberless.flatMap(later(Effect.succeed(1)), (n) =>
    Effect.map(Effect.yieldNow(), () => n + 1),
  ),
  "an effect like any other that mends": Fiberless.catchAll(later(Effect.fail("no")), () =>
    Effect.map(Effect.yieldNow(), () => 2),
  ),
}

/** The exit without a fiber, and how often one was needed. */
const runWithout = (program: Program) =>
  Effect.async<readonly [exit: Exit.Exit<number, string>, forks: number]>((resume) => {
    let forks = 0
    Fiberless.run(
      program,
      (exit) => resume(Effect.succeed([exit, forks])),
      (effect, callback) => {
        forks++
        Effect.runFork(effect).addObserver(callback)
      },
    )
  })

/** A defect by its words, for its stack is another one each time. */
const inWords = Exit.match({
  onSuccess: (value: number) => `${value}`,
  onFailure: (cause: Cause.Cause<string>) =>
    Either.match(Cause.failureOrCause(cause), {
      onLeft: (error) => `fails: ${error}`,
      onRight: (defect) => `dies: ${String(Cause.squash(defect))}`,
    }),
})

describe("without a fiber and in one it is the same", () => {
  for (const [name, program] of Object.entries({ ...programs, ...inNeed })) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const [exit] = yield* runWithout(program)
        assert.strictEqual(inWords(exit), inWords(yield* Effect.exit(program)))
      }),
    )
  }
})

it.effect("a fiber is made only for what needs one, and only one", () =>
  Effect.gen(function* () {
    for (const [name, program] of Object.entries(programs)) {
      assert.strictEqual((yield* runWithout(program))[1], 0, name)
    }
    for (const [name, program] of Object.entries(inNeed)) {
      assert.strictEqual((yield* runWithout(program))[1], 1, name)
    }
  }),
)

it.effect("in a fiber, a suspended one may be another", () =>
  Effect.gen(function* () {
    const program = Fiberless.suspend(
      () => Effect.succeed(1),
      (evaluate) => Effect.map(Effect.suspend(evaluate), (n) => n + 1),
    )
    assert.strictEqual(yield* program, 2)
  }),
)

it.effect("nobody interrupts what is waited for, and the interruption is not lost", () =>
  Effect.gen(function* () {
    const steps: Array<string> = []
    let tell = () => {}
    const waiting = Fiberless.async<void>((resume) => {
      steps.push("waits")
      tell = () => resume(Effect.void)
    })
    const step = Fiberless.map(waiting, () => steps.push("goes on"))
    const fiber = yield* Effect.fork(Effect.zipRight(step, Effect.never))
    yield* Effect.yieldNow()
    const interruption = yield* Effect.fork(Fiber.interrupt(fiber))
    yield* Effect.yieldNow()
    assert.deepStrictEqual(steps, ["waits"])
    tell()
    const exit = yield* Fiber.join(interruption)
    assert.isTrue(Exit.isInterrupted(exit))
  }),
)
