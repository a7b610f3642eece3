import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { FairQueue } from "../../src/providers/FairQueue.ts"

describe("FairQueue", () => {
  it("when several owners add the same item, the fair queue returns the item once, as soon as it is the next item of one of these owners", () => {
    const queue = new FairQueue<string>(10)
    for (const item of ["x", "y", "shared"]) queue.offer("a", item)
    queue.offer("b", "shared")
    assert.deepStrictEqual(queue.take(2).items, ["x", "shared"])
    assert.deepStrictEqual(queue.take(9).items, ["y"])
    assert.strictEqual(queue.size, 0)
  })

  it("the fair queue refuses items above the limit per owner, and accepts items of other owners", () => {
    const queue = new FairQueue<string>(2)
    assert.deepStrictEqual(
      ["1", "2", "3", "2"].map((item) => queue.offer("a", item)),
      [true, true, false, true],
    )
    assert.isTrue(queue.offer("b", "3"))
    queue.remove("1")
    assert.isTrue(queue.offer("a", "3"))
    assert.strictEqual(queue.size, 2)
  })

  it.prop(
    "the fair queue returns every item once, and one item of each owner in the first round",
    [FastCheck.array(FastCheck.tuple(FastCheck.nat(4), FastCheck.nat(30)))],
    ([offers]) => {
      const queue = new FairQueue<number>(100)
      for (const [owner, item] of offers) queue.offer(String(owner), item)
      const items = [...new Set(offers.map(([, item]) => item))]
      assert.strictEqual(queue.size, items.length)
      const owners = new Set(offers.map(([owner]) => owner))
      const firstRound = queue.take(owners.size).items
      for (const owner of owners) {
        const own = offers.filter(([o]) => o === owner).map(([, item]) => item)
        assert.isTrue(own.some((item) => firstRound.includes(item)))
      }
      const all = [...firstRound, ...queue.take(1000).items]
      assert.deepStrictEqual(all.toSorted(), items.toSorted())
      assert.strictEqual(queue.size, 0)
    },
  )
})
