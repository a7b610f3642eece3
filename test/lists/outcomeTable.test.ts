import { assert, it } from "@effect/vitest"
import * as OutcomeFormat from "../../src/lists/OutcomeFormat.ts"
import { csv, headerOf } from "../../src/lists/outcomeTable.ts"
import { usualColumns } from "../../src/pages/console/TableView.ts"
import * as PagesList from "../../src/pages/answers/UrlList.ts"

it("columns with the same name get distinct names, which no other column has", () => {
  const columns = ["a", "url", "a 3", "a", "a", "reason", "reason", "reason"]
  assert.deepStrictEqual(headerOf({ columns, column: 1 }).slice(0, columns.length), [
    "a",
    "url",
    "a 3",
    "a 2",
    "a 4",
    "reason (list)",
    "reason 2",
    "reason 3",
  ])
})

it("a CSV with 10,000 columns of the same name is fast to write and to show in the console", () => {
  const startedAt = performance.now()
  const list = { text: `url${",a".repeat(10_000)}\nexample.com\n`, isGuessed: false }
  const { items, own } = PagesList.read(list)
  const [header = ""] = OutcomeFormat.make("csv", { hasMark: false }).begin(own).split("\n")
  assert.include(header, ",a 9999,a 10000,")
  const rows = items.map((item) => ({ item, outcome: undefined }))
  const text = OutcomeFormat.make("ndjson", { hasMark: false }).rows(rows, own, true)
  assert.include(text, '"a 10000":')
  assert.deepStrictEqual(usualColumns(own), ["own 0", "own 1", "source"])
  assert.isBelow(performance.now() - startedAt, 5000)
})

it("a cell that a spreadsheet could read as a formula gets a ', even after a line end", () => {
  for (const text of [
    "=1+1",
    "+1+1",
    "-1-1",
    "-1,A1",
    "+A1",
    "-",
    "-4\n=1",
    "-1%+1",
    "@sum",
    "\t=1",
    "\r=1",
    "\n=1",
    "\r\n=1",
    "=1\n+2",
    "\n",
  ]) {
    assert.strictEqual(csv([["a", text, 7]]), `a,"'${text}",7`)
  }
  assert.strictEqual(csv([["a=1", "a\n=1", -7, null]]), 'a=1,"a\n=1",-7,')
})

it("a number with a sign is written as in the list", () => {
  for (const text of ["-4", "+7", "-1.5", "-1.234.567,89", "+3 %", "-12%", "-1.2E-5"]) {
    assert.strictEqual(csv([[text, 7]], { delimiter: ";" }), `${text};7`)
  }
})
