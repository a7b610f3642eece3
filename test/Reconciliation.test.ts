import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { comparisons, type Reading, readingOf, type Totals } from "../src/Reconciliation.ts"

/** A call to the vendor. Times are whole numbers. */
interface Call {
  readonly openedAt: number
  /** When the vendor bills the call, counted from the start; null when it never does. */
  readonly billedAfter: number | null
  /** When the program closes the call, counted from the start; null when it gets no answer. */
  readonly closedAfter: number | null
  readonly targets: number
}

/** A call is in flight for at most so long. */
const timeout = 10

const time = FastCheck.integer({ min: 0, max: 100 })

const answered = FastCheck.record({
  openedAt: time,
  targets: FastCheck.integer({ min: 1, max: 50 }),
  billedAfter: FastCheck.integer({ min: 0, max: 5 }),
  closedAfter: FastCheck.integer({ min: 5, max: timeout }),
})

const unanswered = FastCheck.record({
  openedAt: time,
  targets: FastCheck.integer({ min: 1, max: 50 }),
  billedAfter: FastCheck.option(FastCheck.integer({ min: 0, max: timeout })),
  closedAfter: FastCheck.constant(null),
})

const histories = FastCheck.array(FastCheck.oneof(answered, unanswered), { maxLength: 40 })

/** The vendor's price: an amount for each call, and one for each target. */
const prices = FastCheck.record({
  call: FastCheck.integer({ min: 0, max: 20_000 }),
  target: FastCheck.integer({ min: 1, max: 3000 }),
})
type Price = typeof prices extends FastCheck.Arbitrary<infer A> ? A : never

const sum = <A>(items: ReadonlyArray<A>, of: (item: A) => number) =>
  items.reduce((all, item) => all + of(item), 0)

/** `since`: a call that was opened earlier is not in flight any more. */
const totalsAt = (calls: ReadonlyArray<Call>, price: Price, now: number, since: number): Totals => {
  const opened = calls.filter(({ openedAt }) => openedAt <= now)
  const isClosed = ({ closedAfter, openedAt }: Call) =>
    closedAfter !== null && openedAt + closedAfter <= now
  const closed = opened.filter(isClosed)
  const open = opened.filter((call) => !isClosed(call))
  const inFlight = open.filter(({ openedAt }) => openedAt >= since)
  const rows = sum(closed, ({ targets }) => targets)
  return {
    provider: "moz",
    calls: closed.length,
    rows,
    cost: price.call * closed.length + price.target * rows,
    unknownCalls: open.length - inFlight.length,
    unknownTargets: sum(open, (call) => call.targets) - sum(inFlight, (call) => call.targets),
    inFlightCalls: inFlight.length,
    inFlightTargets: sum(inFlight, (call) => call.targets),
  }
}

/** A reading that takes as long as `took`. The vendor answers in the middle. */
const readingAt = (
  calls: ReadonlyArray<Call>,
  price: Price,
  unit: string,
  { at, foreign = 0, took }: { at: number; took: number; foreign?: number },
): Reading => {
  const now = at + Math.floor(took / 2)
  const billed = calls.filter(
    ({ billedAfter, openedAt }) => billedAfter !== null && openedAt + billedAfter <= now,
  )
  const rows = sum(billed, ({ targets }) => targets)
  const used = unit === "rows" ? rows : price.call * billed.length + price.target * rows
  return readingOf(
    { at: now, unit, used: 500 + used + foreign, resetsAt: null },
    totalsAt(calls, price, at, at - timeout),
    totalsAt(calls, price, at + took, at - timeout),
  )
}

const moments = FastCheck.array(
  FastCheck.record({
    at: FastCheck.integer({ min: 0, max: 130 }),
    took: FastCheck.integer({ min: 0, max: 8 }),
  }),
  { minLength: 2, maxLength: 6 },
).map((all) => all.toSorted((a, b) => a.at - b.at))

const quiet = { at: 200, took: 0 }
const free = { call: 0, target: 1 }

describe("the reconciliation", () => {
  it.prop(
    "a vendor that bills only our calls has no difference in rows, whenever it is read",
    [histories, moments],
    ([calls, times]) => {
      const readings = times.map((moment) => readingAt(calls, free, "rows", moment))
      for (const one of comparisons(readings)) assert.strictEqual(one.difference, 0)
    },
  )

  it.prop(
    "a vendor with a price for calls and targets has no difference in money when it is quiet",
    [histories, FastCheck.array(answered, { minLength: 1, maxLength: 20 }), prices],
    ([calls, some, price]) => {
      const all = [...calls, ...some]
      const readings = [{ at: -50, took: 0 }, quiet].map((moment) =>
        readingAt(all, price, "USD", moment),
      )
      assert.deepStrictEqual(
        comparisons(readings).map(({ difference }) => difference),
        [0],
      )
    },
  )

  it.prop(
    "rows that somebody else used are the difference when every call was answered",
    [FastCheck.array(answered, { maxLength: 40 }), FastCheck.integer({ min: 0, max: 1000 })],
    ([calls, foreign]) => {
      const first = readingAt(calls, free, "rows", { at: -50, took: 0 })
      const last = readingAt(calls, free, "rows", { ...quiet, foreign })
      const [one] = comparisons([first, last])
      assert.deepInclude(one, { difference: foreign, unknown: 0 })
    },
  )

  it("rows that a vendor does not count are a negative difference", () => {
    const call = { openedAt: 0, targets: 50, billedAfter: null, closedAfter: 5 }
    const readings = [{ at: -50, took: 0 }, quiet].map((moment) =>
      readingAt([call], free, "rows", moment),
    )
    assert.deepInclude(comparisons(readings)[0], { reported: 0, computed: 50, difference: -50 })
  })

  it("unknown calls explain at most their targets", () => {
    const call = { openedAt: 0, targets: 50, billedAfter: null, closedAfter: null }
    const comparisonWith = (foreign: number) =>
      comparisons([
        readingAt([call], free, "rows", { at: -50, took: 0 }),
        readingAt([call], free, "rows", { ...quiet, foreign }),
      ])[0]
    assert.deepInclude(comparisonWith(50), { unknown: 50, difference: 0 })
    assert.deepInclude(comparisonWith(51), { unknown: 50, difference: 1 })
  })

  it("a renewed period is not compared with the one before, and vendors are kept apart", () => {
    const reading = (at: number, used: number, more: Partial<Reading> = {}): Reading => ({
      ...readingAt([], free, "rows", { at, took: 0 }),
      used,
      ...more,
    })
    const other = { provider: "dataforseo", unit: "USD" }
    const found = comparisons([
      reading(0, 10),
      reading(1, 7),
      reading(2, 5, other),
      reading(3, 8),
      reading(4, 9, { resetsAt: 99 }),
      reading(5, 5, other),
      reading(6, 9, { resetsAt: 99 }),
    ])
    assert.deepStrictEqual(
      found.map(({ provider, reported, since }) => [provider, since, reported]),
      [
        ["moz", 1, 1],
        ["dataforseo", 2, 0],
        ["moz", 4, 0],
      ],
    )
  })
})
