import { assert, describe, it } from "@effect/vitest"
import { takeOver } from "../../src/pages/EarlierRun.ts"

const summary = {
  id: "ab",
  startedAt: 5,
  total: 2,
  checked: 1,
  failed: 0,
  creditsUsed: 3,
  others: [] as ReadonlyArray<string>,
}
const figures = { domainAuthority: 1, pageAuthority: 2 }
const first = { place: 1, url: "a.com", figures }
const second = { place: 2, url: "b.com" }

const read = (...rows: ReadonlyArray<unknown>) =>
  takeOver({ summary, parcels: [{ number: 1, rows }] })

describe("a console run of version 1.0", () => {
  it("is not taken over if rows are missing or figures are invalid", () => {
    assert.isDefined(read(first, second))
    assert.isUndefined(read(first))
    assert.isUndefined(read(first, first))
    assert.isUndefined(read(first, { ...second, place: 3 }))
    assert.isUndefined(read({ ...first, figures: { domainAuthority: "1" } }, second))
    assert.isUndefined(takeOver({ summary: undefined, parcels: [] }))
  })

  it("keeps its answers, its credits, its other columns, and the keys of batches without an answer", () => {
    const taken = takeOver({
      summary: { ...summary, total: 4, others: ["id"] },
      parcels: [
        {
          number: 1,
          rows: [
            { place: 1, url: "a.com", figures, lines: [["7"], ["8"]] },
            { place: 2, url: "localhost", reason: "INVALID_URL", lines: [["9"]] },
          ],
        },
        { number: 4, rows: [{ place: 4, url: "c.com", lines: [["11"]] }] },
        { number: 3, rows: [{ place: 3, url: "b.com", lines: [["10"]] }] },
      ],
    })
    assert(taken !== undefined)
    assert.deepStrictEqual(taken.list, {
      items: [
        { url: "a.com", others: ["7"] },
        { url: "a.com", others: ["8"] },
        { url: "localhost", others: ["9"] },
        { url: "b.com", others: ["10"] },
        { url: "c.com", others: ["11"] },
      ],
      own: { column: 0, columns: ["url", "id"] },
    })
    assert.deepStrictEqual(taken.entries, [
      { url: "localhost", problem: "it is not a public web address" },
      { url: "a.com", target: "a.com" },
      { url: "b.com", target: "b.com" },
      { url: "c.com", target: "c.com" },
    ])
    const [answered, ...waiting] = taken.batches
    assert.deepStrictEqual(answered?.answer, {
      outcomes: [{ url: "a.com", ...figures }],
      creditsUsed: 3,
      answeredAt: 5,
    })
    assert.deepStrictEqual(
      waiting.map(({ items, key }) => [key, items]),
      [
        ["ab-3", [{ url: "b.com", target: "b.com" }]],
        ["ab-4", [{ url: "c.com", target: "c.com" }]],
      ],
    )
  })
})
