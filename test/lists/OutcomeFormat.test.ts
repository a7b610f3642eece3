import { assert, describe, it } from "@effect/vitest"
import type { Outcome } from "../../src/client/Outcomes.ts"
import * as OutcomeFormat from "../../src/lists/OutcomeFormat.ts"
import type { OwnColumns } from "../../src/lists/outcomeTable.ts"

const outcomes: Array<Outcome> = [
  { url: "example.com", domainAuthority: 50, pageAuthority: 29.5, spamScore: 4 },
  { url: "https://example.org/a,b", domainAuthority: 100, pageAuthority: 0 },
  { url: 'say "hi"', reason: "INVALID_URL" },
  { url: "=cmd()", reason: "INVALID_URL" },
  { url: "bell\u0007\u001b[31m", reason: "PROVIDER_ERROR" },
  {
    url: "www.example.net",
    domainAuthority: 50,
    pageAuthority: 40,
    provenance: {
      provider: "moz",
      source: "stale",
      fetchedAt: "2026-11-01T08:30:00.000Z",
      ageSeconds: 60,
      index: "2026-10",
      of: "example.net",
    },
  },
  {
    url: "example.net",
    domainAuthority: 50,
    pageAuthority: 50,
    provenance: {
      provider: "dataset",
      source: "known",
      fetchedAt: "2026-11-02T08:30:00.000Z",
      ageSeconds: 60,
      index: "list.csv, imported 2026-11-01 (an estimate)",
    },
  },
  { url: "x.example", reason: "PROVIDER_ERROR", cause: "unknown", detail: "It is not listed." },
]

/** Formats the outcomes batch by batch, as a run does. */
const written = ({ begin, end, rows }: OutcomeFormat.OutcomeFormat, own?: OwnColumns) => {
  const all = outcomes.map((outcome, i) => ({
    item: { url: outcome.url, others: [String(i), "=1"] },
    outcome,
  }))
  return begin(own) + rows(all.slice(0, 2), own, true) + rows(all.slice(2), own, false) + end
}

const format = (name: OutcomeFormat.Name, delimiter?: string) =>
  OutcomeFormat.make(name, { delimiter, hasMark: false })

describe("the output formats of a bulk check", () => {
  it("the table of outcomes contains no terminal control characters", () => {
    assert.strictEqual(
      written(format("table")),
      [
        "DOMAIN    PAGE    SPAM  REASON          SOURCE    DATE        URL",
        "    50    29.5       4                                        example.com",
        "   100       0                                                https://example.org/a,b",
        '                        INVALID_URL                           say "hi"',
        "                        INVALID_URL                           =cmd()",
        "                        PROVIDER_ERROR                        bell\uFFFD\uFFFD[31m",
        "    50      40                          stale     2026-11-01  www.example.net",
        "    50      50                          estimate  2026-11-02  example.net",
        "                        PROVIDER_ERROR                        x.example",
        "",
      ].join("\n"),
    )
  })

  it("a JSON document and JSON lines contain the outcomes unchanged", () => {
    const [json, ndjson] = [format("json"), format("ndjson")]
    assert.deepStrictEqual(JSON.parse(written(json)), outcomes)
    const lines = written(ndjson).trimEnd().split("\n")
    assert.deepStrictEqual(
      lines.map((line) => JSON.parse(line)),
      outcomes,
    )
    assert.strictEqual(json.begin(undefined) + json.end, "[\n]\n")
    const document = `${written(OutcomeFormat.document)}"summary":{}}`
    assert.deepStrictEqual(JSON.parse(document), { outcomes, summary: {} })
  })

  it("the columns of a CSV list come first in the output, and the program's own columns keep their names", () => {
    const own = { columns: ["reason", "Seite", "n"], column: 1 }
    const rows = written(format("csv", ";"), own).split("\n")
    assert.strictEqual(
      rows[0],
      "reason (list);Seite;n;domainAuthority;pageAuthority;spamScore;reason;provider;source;fetched_at;index;of;cause;detail",
    )
    assert.strictEqual(rows[1], `0;example.com;"'=1";50;29.5;4;;;;;;;;`)
    assert.strictEqual(rows[3], `2;"say ""hi""";"'=1";;;;INVALID_URL;;;;;;;`)
    const [first] = JSON.parse(written(format("json"), own))
    assert.deepStrictEqual(first, { ...outcomes[0], list: { reason: "0", n: "=1" } })
  })

  it("an output file begins with a byte order mark, and a .tsv file is separated by tabs", () => {
    const text = written(OutcomeFormat.make("tsv", { hasMark: true }))
    assert.match(text, /^\uFEFFurl\tdomainAuthority\t/)
    assert.include(text, "\nexample.com\t50\t29.5\t4\t")
  })

  it("the output format of a bulk check follows from the extension of the output file", () => {
    const names = ["a.csv", "b.CSV", "a.json", "a.jsonl", "a.ndjson", "a.txt", "csv", "a.table"]
    assert.deepStrictEqual(["a.tsv", "a.tab"].map(OutcomeFormat.ofFile), ["tsv", "tsv"])
    assert.deepStrictEqual(["a.xlsx", "a.parquet"].map(OutcomeFormat.ofFile), [
      undefined,
      undefined,
    ])
    assert.deepStrictEqual(names.map(OutcomeFormat.ofFile), [
      "csv",
      "csv",
      "json",
      "ndjson",
      "ndjson",
      "table",
      "table",
      "table",
    ])
  })
})
