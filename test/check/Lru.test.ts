import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { Lru } from "../../src/check/Lru.ts"

const keys = FastCheck.array(FastCheck.integer({ min: 0, max: 30 }).map(String), { maxLength: 200 })

describe("an LRU cache", () => {
  it.prop(
    "an LRU cache never exceeds its capacity",
    [keys, FastCheck.integer({ min: 2, max: 20 })],
    ([sets, capacity]) => {
      const memory = new Lru<string>(capacity)
      for (const key of sets) {
        memory.set(key, key)
        assert.isAtMost(memory.size, capacity)
      }
    },
  )

  it.prop(
    "an LRU cache of capacity N keeps at least the N/2 most recently used keys",
    [keys, FastCheck.integer({ min: 2, max: 20 })],
    ([uses, capacity]) => {
      const memory = new Lru<string>(capacity)
      uses.forEach((key, i) => {
        const recent = new Set(
          uses
            .slice(0, i)
            .reverse()
            .slice(0, Math.floor(capacity / 2)),
        )
        if (recent.has(key)) assert.strictEqual(memory.get(key), key)
        else if (memory.get(key) === undefined) memory.set(key, key)
      })
    },
  )

  it("long keys count as several entries, so that they take no more memory than short keys", () => {
    const memory = new Lru<number>(1000)
    const page = (i: number) => `${i}`.padEnd(9000, "x")
    for (let i = 0; i < 1000; i++) memory.set(page(i), i)
    assert.isAtMost(memory.size, 1000 / 45)
    assert.strictEqual(memory.get(page(999)), 999)
    assert.strictEqual(memory.get(page(990)), 990)
  })

  it("an LRU cache keeps a key that is longer than its capacity until the next one", () => {
    const memory = new Lru<number>(2)
    memory.set("x".repeat(9000), 1)
    assert.strictEqual(memory.get("x".repeat(9000)), 1)
    memory.set("a", 2)
    memory.set("b", 3)
    assert.strictEqual(memory.size, 2)
  })
})
