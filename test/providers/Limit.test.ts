import { assert, describe, it } from "@effect/vitest"
import { Limit } from "../../src/providers/Limit.ts"

/** How long a call takes, or "throttled", by the calls that the vendor serves, this one included. */
type Vendor = (serving: number, now: number) => number | "throttled"

/** Asks a vendor for as many calls as the limit allows. Times are milliseconds. */
const load = (limit: Limit, vendor: Vendor) => {
  let now = 0
  let serving = 0
  let counted = { calls: 0, throttled: 0 }
  let events: Array<{ readonly at: number; readonly run: () => void }> = []
  const after = (ms: number, run: () => void) => void events.push({ at: now + ms, run })

  const start = () => {
    const startedAt = now
    limit.take()
    counted.calls += 1
    const answer = vendor(serving + 1, now)
    if (answer === "throttled") {
      counted.throttled += 1
      after(5, () => limit.throttled(startedAt, now))
      // The call waits for its retry.
      after(200, () => limit.release())
    } else {
      serving += 1
      after(answer, () => {
        serving -= 1
        limit.answered(startedAt, now)
        limit.release()
      })
    }
  }

  /** Keeps all calls that are allowed in flight for `ms`, but not more than `most`. */
  const run = (ms: number, most = Number.POSITIVE_INFINITY) => {
    const until = now + ms
    counted = { calls: 0, throttled: 0 }
    while (now < until) {
      while (limit.hasRoom && limit.inFlight < most) start()
      const next = Math.min(...events.map(({ at }) => at))
      const due = events.findIndex(({ at }) => at === next)
      now = next
      for (const event of events.splice(due, 1)) event.run()
    }
    return counted
  }
  /** Lets all calls end, and `ms` pass. */
  const idle = (ms: number) => {
    now += ms
    const ended = events
    events = []
    for (const { run } of ended) run()
  }
  return { run, idle }
}

const constant = () => 120
const allows =
  (most: number): Vendor =>
  (serving) =>
    serving > most ? "throttled" : 120
/** A vendor with so many workers: more calls wait for one another. */
const workers =
  (count: number): Vendor =>
  (serving) =>
    120 * Math.max(1, serving / count)

describe("the limit of concurrent calls", () => {
  it("starts at 4 or the upper limit, and reaches all but the spare call within 2 s at a level latency", () => {
    assert.strictEqual(new Limit(32).calls, 4)
    assert.strictEqual(new Limit(2).calls, 2)
    const limit = new Limit(32)
    load(limit, constant).run(2000)
    assert.strictEqual(limit.calls, 31)
  })

  it("does not grow while the calls do not use it up", () => {
    const limit = new Limit(32)
    load(limit, constant).run(10_000, 3)
    assert.strictEqual(limit.calls, 4)
  })

  for (const most of [1, 2, 3, 4, 10, 25]) {
    it(`a vendor that allows ${most} calls at a time throttles few calls and is used to the full`, () => {
      const limit = new Limit(32)
      const vendor = load(limit, allows(most))
      const first = vendor.run(10_000)
      assert.isAtMost(first.throttled, 10)
      const later = vendor.run(300_000)
      assert.isAtMost(later.throttled / later.calls, 0.02)
      assert.isAtMost(later.throttled, 20)
      assert.isAtLeast(later.calls, (0.9 * most * 300_000) / 120)
    })
  }

  it("halves once for the throttled calls of one round", () => {
    const limit = new Limit(32)
    const vendor = load(limit, (_, now) => (now < 5000 ? 120 : "throttled"))
    vendor.run(4900)
    const before = limit.calls
    vendor.run(200)
    assert.isBelow(limit.calls, before)
    assert.isAtLeast(limit.calls, 1)
  })

  it("falls when calls slow the vendor down, and stays where the vendor is not much slower", () => {
    const limit = new Limit(32)
    const vendor = load(limit, workers(8))
    vendor.run(60_000)
    for (let i = 0; i < 100; i++) {
      vendor.run(2000)
      assert.isAtLeast(limit.calls, 4)
      assert.isAtMost(limit.calls, 20)
    }
  })

  it("a slow start and single slow calls do not lower it", () => {
    const limit = new Limit(32)
    let calls = 0
    const vendor = load(limit, () => {
      calls += 1
      return calls <= 4 ? 3000 : calls % 20 === 0 ? 5000 : 120
    })
    vendor.run(20_000)
    for (let i = 0; i < 20; i++) {
      vendor.run(1000)
      assert.isAtLeast(limit.calls, 30)
    }
  })

  it("returns at once when the vendor is slower for its own reasons", () => {
    const limit = new Limit(32)
    const vendor = load(limit, (_, now) => (now < 10_000 ? 120 : 600))
    vendor.run(15_000)
    for (let i = 0; i < 10; i++) {
      vendor.run(1000)
      assert.isAtLeast(limit.calls, 30)
    }
  })

  it("grows again after a long time without calls", () => {
    const limit = new Limit(32)
    const vendor = load(limit, (_, now) => (now < 10_000 ? 120 : now < 20_000 ? 500 : 200))
    vendor.run(20_000)
    vendor.idle(86_400_000)
    vendor.run(60_000)
    assert.strictEqual(limit.calls, 31)
  })

  it("stays below the refusals that the vendor still tolerates, and never below 1", () => {
    const limit = new Limit(32)
    load(limit, constant).run(5000)
    limit.tolerate(7)
    assert.strictEqual(limit.calls, 7)
    limit.tolerate(-3)
    assert.strictEqual(limit.calls, 1)
    limit.tolerate(50)
    assert.strictEqual(limit.calls, 31)
  })

  it("has room for one spare call, within the upper limit and the refusals that are tolerated", () => {
    const spareCalls = (limit: Limit) => {
      while (limit.hasRoom) limit.take()
      let spare = 0
      for (; limit.hasSpareRoom; spare++) limit.take()
      return spare
    }
    assert.strictEqual(spareCalls(new Limit(32)), 1)
    assert.strictEqual(spareCalls(new Limit(4)), 0)
    const refused = new Limit(32)
    refused.tolerate(4)
    assert.strictEqual(spareCalls(refused), 0)
    const grown = new Limit(32)
    load(grown, constant).run(2000)
    grown.take()
    assert.strictEqual(spareCalls(grown), 1)
    assert.strictEqual(grown.inFlight, 32)
  })
})
