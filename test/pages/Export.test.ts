import { assert, describe, it } from "@effect/vitest"
import { csv as csvOf, json, tsv } from "../../src/pages/Export.ts"
import type { Row } from "../../src/pages/Row.ts"

const csv = (rows: ReadonlyArray<Row>) => csvOf({ rows, others: [] })

const joined = {
  others: ["id", "reason"],
  rows: [
    {
      place: 1,
      url: "a.com",
      figures: { domainAuthority: 1, pageAuthority: 2 },
      lines: [
        ["7", "good"],
        ["8", "=1+1"],
      ],
    },
    { place: 2, url: "b\tc", reason: "INVALID_URL", lines: [["9", ""]] },
  ],
} satisfies Parameters<typeof csvOf>[0]

describe("the CSV export", () => {
  it("the CSV export has a header row and a byte order mark, so that spreadsheets detect UTF-8", () => {
    assert.strictEqual(
      csv([
        {
          place: 1,
          url: "https://bücher.example.com/?a=1,2",
          figures: { domainAuthority: 50.5, pageAuthority: 0 },
        },
        { place: 2, url: 'a "b"', reason: "INVALID_URL" },
        { place: 3, url: "c.com", figures: { domainAuthority: 1, pageAuthority: 2, spamScore: 3 } },
        { place: 4, url: "d.com" },
      ]),
      "\uFEFFurl,domainAuthority,pageAuthority,spamScore,reason\r\n" +
        '"https://bücher.example.com/?a=1,2",50.5,0,,\r\n' +
        '"a ""b""",,,,INVALID_URL\r\n' +
        "c.com,1,2,3,\r\n" +
        "d.com,,,,\r\n",
    )
  })
})

describe("an export of a list with other columns", () => {
  it("each line of an export has the address, the results, and then the other columns of the list", () => {
    assert.strictEqual(
      csvOf(joined),
      "\uFEFFurl,domainAuthority,pageAuthority,spamScore,reason,id,reason (list)\r\n" +
        "a.com,1,2,,,7,good\r\n" +
        'a.com,1,2,,,8,"\'=1+1"\r\n' +
        "b\tc,,,,INVALID_URL,9,\r\n",
    )
  })

  it("a copied export has tabs between its cells, and no cell is a formula", () => {
    assert.strictEqual(
      tsv(joined),
      "url\tdomainAuthority\tpageAuthority\tspamScore\treason\tid\treason (list)\n" +
        "a.com\t1\t2\t\t\t7\tgood\n" +
        'a.com\t1\t2\t\t\t8\t"\'=1+1"\n' +
        '"b\tc"\t\t\t\tINVALID_URL\t9\t',
    )
  })

  it("a JSON export contains the text of the list's columns unchanged", () => {
    assert.deepStrictEqual(JSON.parse(json(joined)), [
      { url: "a.com", domainAuthority: 1, pageAuthority: 2, list: { id: "7", reason: "good" } },
      { url: "a.com", domainAuthority: 1, pageAuthority: 2, list: { id: "8", reason: "=1+1" } },
      { url: "b\tc", reason: "INVALID_URL", list: { id: "9", reason: "" } },
    ])
    assert.strictEqual(
      json({ rows: [{ place: 1, url: "a.com" }], others: [] }),
      `[
  {
    "url": "a.com"
  }
]
`,
    )
  })

  it("an export keeps two list columns that have the same name", () => {
    const row = { place: 1, url: "a.com", lines: [["1", "2", "3"]] }
    const results = { rows: [row], others: ["rank", "rank", "url"] }
    assert.deepStrictEqual(JSON.parse(json(results)), [
      { url: "a.com", list: { rank: "1", "rank 2": "2", url: "3" } },
    ])
    assert.include(csvOf(results), "reason,rank,rank 2,url (list)\r\n")
  })
})
