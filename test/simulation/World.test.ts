/** The simulated world itself: a seed can be replayed, no real time passes, and races are found. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as EffectRandom from "effect/Random"
import { never, type Process, Stuck, World } from "./World.ts"

/** Runs an effect to its end in a new world. `main` gets a process. */
const run = <A>(seed: number, main: (world: World, process: Process) => Effect.Effect<A>) => {
  const world = new World(seed)
  const process = world.process("main")
  let isOver = false
  process.fork(main(world, process)).addObserver(() => {
    isOver = true
  })
  world.run(() => isOver)
  return world
}

/** Some fibers that wait for random times and note when they go on. */
const wanderers = (world: World) =>
  Effect.forEach(
    Array.from({ length: 10 }, (_, i) => i),
    (i) =>
      Effect.gen(function* () {
        for (let turn = 0; turn < 5; turn++) {
          yield* Effect.sleep(yield* EffectRandom.nextIntBetween(0, 50))
          world.note(`${i}`, `is at ${yield* Clock.currentTimeMillis}`)
        }
      }),
    { concurrency: "unbounded", discard: true },
  )

describe("a simulated world", () => {
  it("two simulated worlds have equal traces for equal seeds, and different traces for different seeds", () => {
    const traces = Array.from({ length: 20 }, (_, seed) => run(seed, wanderers).trace)
    assert.deepStrictEqual(
      Array.from({ length: 20 }, (_, seed) => run(seed, wanderers).trace),
      traces,
    )
    assert.strictEqual(new Set(traces).size, 20)
  })

  it("a simulated world lets 15 minutes pass within one turn of the real event loop", () => {
    let turns = 0
    const immediate = setImmediate(() => void turns++)
    const world = run(1, () => Effect.sleep("15 minutes"))
    clearImmediate(immediate)
    assert.strictEqual(turns, 0)
    assert.isAtLeast(world.elapsedMs, 15 * 60_000)
  })

  it("a simulated world fails when a fiber waits for the real event loop", () => {
    const outside = Effect.promise(() => Promise.resolve())
    assert.throws(() => run(1, () => outside), Stuck)
    assert.throws(() => run(1, () => never), Stuck)
  })

  it("some seeds of a simulated world show a race between two fibers that read and then write", () => {
    const isLost = (seed: number) => {
      let counter = 0
      const increment = Effect.gen(function* () {
        const before = yield* Effect.sync(() => counter)
        for (let i = 0; i < 60; i++) yield* Effect.suspend(() => Effect.void)
        counter = before + 1
      })
      run(seed, () => Effect.all([increment, increment], { concurrency: 2 }))
      return counter === 1
    }
    const lost = Array.from({ length: 50 }, (_, seed) => isLost(seed)).filter(Boolean).length
    assert.isAtLeast(lost, 10)
  })

  it("the timers of a frozen process wait until it thaws, and timers of a killed process never run", () => {
    const world = new World(1)
    const [one, other] = [world.process("one"), world.process("other")]
    const seen: Array<string> = []
    const later = (name: string) =>
      Effect.delay(
        Effect.sync(() => void seen.push(name)),
        100,
      )
    other.fork(later("other"))
    // At the same time as the timer of the other process.
    world.after(other, 100, () => one.freeze())
    world.after(other, 1000, () => one.thaw())
    world.after(one, 100, () => void seen.push("one"))
    world.after(other, 500, () => void seen.push("thawed soon"))
    const third = world.process("third")
    third.fork(later("third"))
    third.kill()
    assert.throws(() => world.run(() => false), Stuck)
    assert.deepStrictEqual(seen, ["other", "thawed soon", "one"])
  })
})
