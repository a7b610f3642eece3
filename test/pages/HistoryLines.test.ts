import { assert, describe, it } from "@effect/vitest"
import type { Observation, Outcome } from "../../src/client/PromiseClient.ts"
import * as HistoryLines from "../../src/pages/console/HistoryLines.ts"

const seen = (day: number, provider: string, index: string | null, last = day): Observation => ({
  fetchedAt: new Date(day).toISOString(),
  lastFetchedAt: new Date(last).toISOString(),
  provider,
  index,
  domainAuthority: 40,
  pageAuthority: 30,
})

const marks = (...observations: ReadonlyArray<Observation>) =>
  HistoryLines.linesOf(observations).map(({ points, provider }) => ({
    provider,
    points: points.map(({ formerIndex, from }) => [from, formerIndex]),
  }))

describe("the chart of an address's history", () => {
  it("the chart has one line for each provider, from the oldest observation to the newest", () => {
    const all = [seen(4, "moz", "a", 9), seen(3, "dataset", "b"), seen(2, "moz", "a")]
    assert.deepStrictEqual(marks(...all), [
      { provider: "dataset", points: [[3, undefined]] },
      {
        provider: "moz",
        points: [
          [2, undefined],
          [4, undefined],
        ],
      },
    ])
    assert.deepStrictEqual(HistoryLines.linesOf([]), [])
  })

  it("the chart marks where a provider's index differs from the last one that it named", () => {
    const all = [
      seen(1, "moz", null),
      seen(2, "moz", "a"),
      seen(3, "dataset", "other"),
      seen(4, "moz", null),
      seen(5, "moz", "a"),
      seen(6, "moz", "b"),
    ]
    assert.deepStrictEqual(marks(...all)[1]?.points, [
      [1, undefined],
      [2, undefined],
      [4, undefined],
      [5, undefined],
      [6, "a"],
    ])
  })

  it("the chart includes figures of the page's own runs, unless an observation already has them", () => {
    const own = (day: number, provider: string, index: string | null): Outcome => ({
      url: "a.com",
      domainAuthority: 40,
      pageAuthority: 30,
      provenance: {
        provider,
        source: "bought",
        fetchedAt: new Date(day).toISOString(),
        ageSeconds: 0,
        index,
      },
    })
    const known = [seen(2, "moz", "a", 5)]
    const outcomes = [
      own(4, "moz", "a"),
      own(6, "moz", "b"),
      own(6, "moz", "b"),
      own(4, "dataset", null),
      { url: "a.com", domainAuthority: 1, pageAuthority: 1 },
      { url: "a.com", reason: "PROVIDER_ERROR" as const },
    ]
    assert.deepStrictEqual(HistoryLines.withOwn(known, outcomes), [
      ...known,
      seen(6, "moz", "b"),
      seen(4, "dataset", null),
    ])
  })

  it("the scale of the chart is the tens around the values, even if all values are the same", () => {
    assert.deepStrictEqual(HistoryLines.tensAround([12, 38.5]), { low: 10, high: 40 })
    assert.deepStrictEqual(HistoryLines.tensAround([40]), { low: 40, high: 50 })
    assert.deepStrictEqual(HistoryLines.tensAround([100]), { low: 90, high: 100 })
    assert.strictEqual(HistoryLines.positionIn({ low: 10, high: 40 }, 25), 50)
    assert.strictEqual(HistoryLines.positionIn({ low: 7, high: 7 }, 7), 50)
  })
})
