import { assert, describe, it } from "@effect/vitest"
import type { Failure, Success } from "../../src/client/PromiseClient.ts"
import { csv, json, type Results, tsv } from "../../src/pages/console/Export.ts"
import * as Row from "../../src/pages/console/Row.ts"

const provenance = {
  provider: "moz",
  source: "known",
  fetchedAt: "2026-11-20T08:00:00.000Z",
  ageSeconds: 60,
  index: "2026-11",
} as const

const row = (
  url: string,
  outcome?: Omit<Success, "url"> | Omit<Failure, "url">,
  others: ReadonlyArray<string> = [],
) => Row.make({ url, others }, 1, outcome && { url, ...outcome })

const results: Results = {
  own: { column: 1, columns: ["id", "address", "reason"] },
  rows: [
    row("a.com", { domainAuthority: 1, pageAuthority: 2, provenance }, ["7", "good"]),
    row("A.com", { domainAuthority: 1, pageAuthority: 2 }, ["8", "=1+1"]),
    row("b\tc", { reason: "INVALID_URL", cause: "invalid", detail: "no." }, ["9", ""]),
  ],
}

const ours =
  "domainAuthority,pageAuthority,spamScore,reason,provider,source,fetched_at,index,of,cause,detail"

describe("the CSV export", () => {
  it("the CSV export has a header row and a byte order mark, so that spreadsheets detect UTF-8", () => {
    const rows = [
      row("https://bücher.example.com/?a=1,2", { domainAuthority: 50.5, pageAuthority: 0 }),
      row('a "b"', { reason: "INVALID_URL" }),
      row("c.com", { domainAuthority: 1, pageAuthority: 2, spamScore: 3 }),
      row("d.com"),
    ]
    assert.strictEqual(
      csv({ rows, own: undefined }),
      `\uFEFFurl,${ours}\r\n` +
        '"https://bücher.example.com/?a=1,2",50.5,0,,,,,,,,,\r\n' +
        '"a ""b""",,,,INVALID_URL,,,,,,,\r\n' +
        "c.com,1,2,3,,,,,,,,\r\n" +
        "d.com,,,,,,,,,,,\r\n",
    )
  })
})

describe("the export of a list with other columns", () => {
  it("each line of an export contains the list's own columns, the figures, and then their source", () => {
    assert.strictEqual(
      csv(results),
      `\uFEFFid,address,reason (list),${ours}\r\n` +
        "7,a.com,good,1,2,,,moz,known,2026-11-20T08:00:00.000Z,2026-11,,,\r\n" +
        '8,A.com,"\'=1+1",1,2,,,,,,,,,\r\n' +
        "9,b\tc,,,,,INVALID_URL,,,,,,invalid,no.\r\n",
    )
  })

  it("a copied export has tabs between its cells, and no cell can be read as a formula", () => {
    const [top, , second, third] = tsv(results).split("\n")
    assert.match(top ?? "", /^id\taddress\treason \(list\)\tdomainAuthority\t/)
    assert.match(second ?? "", /^8\tA\.com\t"'=1\+1"\t1\t2\t/)
    assert.match(third ?? "", /^9\t"b\tc"\t\t\t\t\tINVALID_URL\t/)
  })

  it("a JSON export contains the text of the list's columns unchanged", () => {
    const [first, second, third] = JSON.parse(json(results))
    const figures = { domainAuthority: 1, pageAuthority: 2 }
    assert.deepStrictEqual(first, {
      url: "a.com",
      ...figures,
      provenance,
      list: { id: "7", reason: "good" },
    })
    assert.deepStrictEqual(second, { url: "A.com", ...figures, list: { id: "8", reason: "=1+1" } })
    assert.deepStrictEqual(third, {
      url: "b\tc",
      reason: "INVALID_URL",
      cause: "invalid",
      detail: "no.",
      list: { id: "9", reason: "" },
    })
    assert.strictEqual(
      json({ rows: [row("a.com")], own: undefined }),
      `[
  {
    "url": "a.com"
  }
]
`,
    )
  })
})
