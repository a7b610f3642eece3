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
})
