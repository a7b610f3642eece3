import { assert, describe, it } from "@effect/vitest"
import type { Success } from "../../src/client/PromiseClient.ts"
import * as Row from "../../src/pages/Row.ts"
import * as TableView from "../../src/pages/TableView.ts"

const figures = [
  { domainAuthority: 10, pageAuthority: 100, spamScore: 5 },
  { domainAuthority: 99.5, pageAuthority: 0 },
  { domainAuthority: 9.9, pageAuthority: 40, spamScore: 0 },
]
const run = {
  rows: ["b.com", "a.com", "C.com", "localhost", "waits.com"].map((url, i) => {
    const known = figures[i]
    const invalid = url === "localhost" ? { url, reason: "INVALID_URL" as const } : undefined
    return Row.make({ url, others: [] }, i + 1, known === undefined ? invalid : { url, ...known })
  }),
}

const row = (url: string, figures?: Omit<Success, "url">, place = 0) =>
  Row.make({ url, others: [] }, place, figures && { url, ...figures })

const places = (filter: Partial<TableView.Filter>, sorting: Partial<TableView.Sorting> = {}) =>
  TableView.select(
    run,
    { ...TableView.everything, ...filter },
    { by: "place", descending: false, ...sorting },
  ).map(({ place }) => place)

describe("the table of a console run", () => {
  it("the table of a console run sorts by place in the list, ascending or descending", () => {
    assert.deepStrictEqual(places({}), [1, 2, 3, 4, 5])
    assert.deepStrictEqual(places({}, { descending: true }), [5, 4, 3, 2, 1])
  })

  it("the table of a console run sorts by a figure, with missing figures last in both directions", () => {
    assert.deepStrictEqual(places({}, { by: "domainAuthority" }), [3, 1, 2, 4, 5])
    assert.deepStrictEqual(places({}, { by: "domainAuthority", descending: true }), [2, 1, 3, 4, 5])
    assert.deepStrictEqual(places({}, { by: "spamScore", descending: true }), [1, 3, 2, 4, 5])
  })

  it("the table of a console run sorts by the list's own columns and by where figures come from", () => {
    const provenance = { provider: "moz", source: "known", ageSeconds: 1, index: null } as const
    const rows = [
      ["10", "b"],
      ["9.5", ""],
      ["-", "a"],
      ["", "c"],
    ].map((others, i) =>
      Row.make({ url: `${i}.com`, others }, i + 1, {
        url: `${i}.com`,
        domainAuthority: 1,
        pageAuthority: 1,
        ...(i < 2 && { provenance: { ...provenance, fetchedAt: `2026-11-0${2 - i}` } }),
      }),
    )
    const sorted = (by: TableView.Extra, descending = false) =>
      TableView.select({ rows }, TableView.everything, { by, descending }).map(({ place }) => place)
    assert.deepStrictEqual(sorted("own 0"), [2, 1, 3, 4])
    assert.deepStrictEqual(sorted("own 0", true), [3, 1, 2, 4])
    assert.deepStrictEqual(sorted("own 1"), [3, 1, 4, 2])
    assert.deepStrictEqual(sorted("source"), [2, 1, 3, 4])
    assert.deepStrictEqual(sorted("provider", true), [1, 2, 3, 4])
  })

  it("the table of a console run can be filtered by text, by outcome, and by a bar of the chart, such as the figures from 90 to 100", () => {
    assert.deepStrictEqual(places({ text: " C.COM " }), [3])
    assert.deepStrictEqual(places({ outcome: "checked" }), [1, 2, 3])
    assert.deepStrictEqual(places({ outcome: "failed" }), [4])
    assert.deepStrictEqual(places({ outcome: "INVALID_URL" }), [4])
    assert.deepStrictEqual(places({ outcome: "waiting" }), [5])
    assert.deepStrictEqual(places({ tenth: { figure: "pageAuthority", number: 9 } }), [1])
    assert.deepStrictEqual(places({ tenth: { figure: "domainAuthority", number: 0 } }), [3])
  })

  it("the console's table filter by a range of figures includes both ends of the range", () => {
    const within = (ranges: Partial<TableView.Filter["ranges"]>) =>
      places({ ranges: { ...TableView.everything.ranges, ...ranges } })
    assert.deepStrictEqual(within({ domainAuthority: { from: 10, to: 99.5 } }), [1, 2])
    assert.deepStrictEqual(within({ domainAuthority: { from: 10.1, to: undefined } }), [2])
    assert.deepStrictEqual(within({ domainAuthority: { from: undefined, to: 10 } }), [1, 3])
    assert.deepStrictEqual(within({ spamScore: { from: 0, to: undefined } }), [1, 3])
    assert.deepStrictEqual(
      within({
        domainAuthority: { from: undefined, to: 10 },
        pageAuthority: { from: 50, to: undefined },
      }),
      [1],
    )
    assert.deepStrictEqual(within({ pageAuthority: { from: 60, to: 50 } }), [])
  })

  it("the table of a console run groups its rows by domain, in the order of each domain's first row", () => {
    const rows = [
      row("https://www.b.co.uk/page", { domainAuthority: 5, pageAuthority: 3 }, 1),
      row("a.com", { domainAuthority: 9, pageAuthority: 9, spamScore: 1 }, 2),
      row("B.co.uk.", { domainAuthority: 5, pageAuthority: 7 }, 3),
      row("http://shop.b.co.uk:80/?q=a.com", undefined, 4),
      row("c.co.uk", undefined, 5),
    ]
    const groups = TableView.byDomain(rows)
    assert.deepStrictEqual(
      groups.map(({ domain, rows }) => [domain, ...rows.map(({ place }) => place)]),
      [
        ["b.co.uk", 1, 3, 4],
        ["a.com", 2],
        ["c.co.uk", 5],
      ],
    )
    const [{ rows: some } = { rows: [] }, , { rows: none } = { rows: [] }] = groups
    assert.strictEqual(TableView.highest(some, "pageAuthority"), 7)
    assert.isUndefined(TableView.highest(some, "spamScore"))
    assert.isUndefined(TableView.highest(none, "pageAuthority"))
  })

  it("the best domains of a console run have the highest domain authority, then the highest page authority, and each is named once", () => {
    const rows = [
      row("a.com", { domainAuthority: 50, pageAuthority: 9 }),
      row("b.com", { domainAuthority: 90, pageAuthority: 10 }),
      row("http://www.b.com/page", { domainAuthority: 90, pageAuthority: 60 }),
      row("c.com", { domainAuthority: 90, pageAuthority: 20 }),
      row("waits.com"),
    ]
    assert.deepStrictEqual(TableView.best(rows, 2), [
      { domain: "b.com", authority: 90 },
      { domain: "c.com", authority: 90 },
    ])
    assert.lengthOf(TableView.best(rows, 10), 3)
  })

  it("for the chart of a console run, the figures are counted in ten equal ranges from 0 to 100, and their median and the number above a limit are computed", () => {
    assert.deepStrictEqual(TableView.distribution(run.rows, "domainAuthority"), {
      counts: [1, 1, 0, 0, 0, 0, 0, 0, 0, 1],
      total: 3,
      above: 1,
      median: 10,
    })
    assert.deepInclude(TableView.distribution(run.rows, "spamScore"), { above: 0, median: 2.5 })
    assert.isUndefined(TableView.distribution([], "spamScore").median)
  })
})
