import { assert, describe, it } from "@effect/vitest"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import { Run } from "../../src/pages/Run.ts"
import * as TableView from "../../src/pages/TableView.ts"

const items = ["b.com", "a.com", "C.com", "localhost", "waits.com"].map((url) => ({ url }))
const run = Run.of(
  { items, others: [] },
  {
    client: (options) => AuthorityMetrics({ baseUrl: "http://service", ...options }),
    isOnline: () => true,
    keep: () => Promise.resolve(),
    onChange: () => {},
    onRead: () => {},
  },
)
const figures = [
  { domainAuthority: 10, pageAuthority: 100, spamScore: 5 },
  { domainAuthority: 99.5, pageAuthority: 0 },
  { domainAuthority: 9.9, pageAuthority: 40, spamScore: 0 },
]
run.rows.forEach((row, index) => {
  const known = figures[index]
  if (known !== undefined) row.figures = known
})
const [, , , fourth] = run.rows
if (fourth !== undefined) fourth.reason = "INVALID_URL"

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

  it("for the chart of a console run, the figures are counted in ten equal ranges from 0 to 100, and their median is computed", () => {
    assert.deepStrictEqual(TableView.distribution(run.rows, "domainAuthority"), {
      counts: [1, 1, 0, 0, 0, 0, 0, 0, 0, 1],
      median: 10,
    })
    assert.deepStrictEqual(TableView.distribution(run.rows, "spamScore").median, 2.5)
    assert.isUndefined(TableView.distribution([], "spamScore").median)
  })
})
