import { assert, describe, it } from "@effect/vitest"
import * as Row from "../../src/pages/console/Row.ts"
import * as TableView from "../../src/pages/console/TableView.ts"

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

  it("for the chart of a console run, the figures are counted in ten equal ranges from 0 to 100, each target once, and their median and the number above a limit are computed", () => {
    assert.deepStrictEqual(TableView.distribution(run.rows, "domainAuthority"), {
      counts: [1, 1, 0, 0, 0, 0, 0, 0, 0, 1],
      total: 3,
      above: 1,
      median: 10,
    })
    assert.deepInclude(TableView.distribution(run.rows, "spamScore"), { above: 0, median: 2.5 })
    assert.isUndefined(TableView.distribution([], "spamScore").median)
    const repeated = Row.make({ url: "B.com", others: [] }, 6, run.rows[0]?.outcome, 1)
    assert.deepStrictEqual(
      TableView.distribution([...run.rows, repeated], "domainAuthority"),
      TableView.distribution(run.rows, "domainAuthority"),
    )
  })
})

describe("an address in the console", () => {
  it("joining the parts of an address gives the address back", () => {
    for (const url of ["https://a.com:8080/b?c#d", "a.com", "not a url", "", "://"]) {
      const { host, rest, scheme } = Row.partsOf(url)
      assert.strictEqual(scheme + host + rest, url)
    }
    const parts = { scheme: "HTTP://", host: "a.com", rest: ":80/b" }
    assert.deepStrictEqual(Row.partsOf("HTTP://a.com:80/b"), parts)
  })

  it("only addresses of web pages become links", () => {
    assert.strictEqual(Row.linkOf("https://a.com/b?c"), "https://a.com/b?c")
    assert.strictEqual(Row.linkOf("a.com/b"), "http://a.com/b")
    for (const url of ["javascript:alert(1)//.", "ftp://a.com", "data:text/html,a.b", "localhost"])
      assert.isUndefined(Row.linkOf(url), url)
    for (const url of ["not a url", "a b.com"]) assert.isUndefined(Row.linkOf(url), url)
  })
})
