import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { FairQueue } from "../src/providers/FairQueue.ts"

describe("FairQueue", () => {
  it("serves its owners in turn", () => {
    const queue = new FairQueue<string>(10)
    for (const item of ["a1", "a2", "a3", "a4"]) queue.offer("a", item)
    for (const item of ["b1", "b2"]) queue.offer("b", item)
    queue.offer("c", "c1")
    expect(queue.take(5)).toEqual(["a1", "b1", "c1", "a2", "b2"])
    queue.offer("b", "b3")
    expect(queue.take(5)).toEqual(["a3", "b3", "a4"])
  })

  it("takes a shared item once, at the first turn of any of its owners", () => {
    const queue = new FairQueue<string>(10)
    for (const item of ["x", "y", "shared"]) queue.offer("a", item)
    queue.offer("b", "shared")
    expect(queue.take(2)).toEqual(["x", "shared"])
    expect(queue.take(9)).toEqual(["y"])
    expect(queue.size).toBe(0)
  })

  it("refuses an item when its owner's line is full, and still accepts other owners' items", () => {
    const queue = new FairQueue<string>(2)
    expect(["1", "2", "3", "2"].map((item) => queue.offer("a", item))).toEqual([
      true,
      true,
      false,
      true,
    ])
    expect(queue.offer("b", "3")).toBe(true)
    queue.remove("1")
    expect(queue.offer("a", "3")).toBe(true)
    expect(queue.size).toBe(2)
  })

  it.prop(
    "takes every item once, and serves each owner in the first round",
    [FastCheck.array(FastCheck.tuple(FastCheck.nat(4), FastCheck.nat(30)))],
    ([offers]) => {
      const queue = new FairQueue<number>(100)
      for (const [owner, item] of offers) queue.offer(String(owner), item)
      const items = [...new Set(offers.map(([, item]) => item))]
      expect(queue.size).toBe(items.length)
      const owners = new Set(offers.map(([owner]) => owner))
      const firstRound = queue.take(owners.size)
      for (const owner of owners) {
        const own = offers.filter(([o]) => o === owner).map(([, item]) => item)
        expect(own.some((item) => firstRound.includes(item))).toBe(true)
      }
      const all = [...firstRound, ...queue.take(1000)]
      expect(all.toSorted()).toEqual(items.toSorted())
      expect(queue.size).toBe(0)
    },
  )
})
