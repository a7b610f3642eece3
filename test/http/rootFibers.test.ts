import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as rootFibers from "../../src/http/rootFibers.ts"

it.effect("fibers without a parent are kept nowhere, and run", () =>
  Effect.gen(function* () {
    const known = Effect.runFork(Effect.never)
    assert.include(yield* Fiber.roots, known)
    yield* rootFibers.forget
    const forgotten = Effect.runFork(Effect.sleep("1 milli"))
    assert.notInclude(yield* Fiber.roots, forgotten)
    yield* Fiber.join(forgotten)
    assert.notInclude(yield* Fiber.roots, forgotten)
    yield* Fiber.interrupt(known)
  }),
)
