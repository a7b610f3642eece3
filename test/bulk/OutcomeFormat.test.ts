import { assert, describe, it } from "@effect/vitest"
import type { Outcome } from "../../src/client/Outcomes.ts"
import * as OutcomeFormat from "../../src/bulk/OutcomeFormat.ts"

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
const written = ({ begin, end, rows }: OutcomeFormat.OutcomeFormat) =>
  begin + rows(outcomes.slice(0, 2), true) + rows(outcomes.slice(2), false) + end

describe("the output formats of a bulk check", () => {
  it("the table of outcomes contains no terminal control characters", () => {
    assert.strictEqual(
      written(OutcomeFormat.formats.table),
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

  it("the CSV of outcomes contains no cells that a spreadsheet would run as formulas", () => {
    assert.strictEqual(
      written(OutcomeFormat.formats.csv),
      [
        "url,domainAuthority,pageAuthority,spamScore,reason,provider,source,fetched_at,index,of,cause,detail",
        "example.com,50,29.5,4,,,,,,,,",
        '"https://example.org/a,b",100,0,,,,,,,,,',
        '"say ""hi""",,,,INVALID_URL,,,,,,,',
        `"'=cmd()",,,,INVALID_URL,,,,,,,`,
        "bell\u0007\u001b[31m,,,,PROVIDER_ERROR,,,,,,,",
        "www.example.net,50,40,,,moz,stale,2026-11-01T08:30:00.000Z,2026-10,example.net,,",
        'example.net,50,50,,,dataset,known,2026-11-02T08:30:00.000Z,"list.csv, imported 2026-11-01 (an estimate)",,,',
        "x.example,,,,PROVIDER_ERROR,,,,,,unknown,It is not listed.",
        "",
      ].join("\n"),
    )
  })

  it("a JSON document and JSON lines contain the outcomes unchanged", () => {
    const { json, ndjson } = OutcomeFormat.formats
    assert.deepStrictEqual(JSON.parse(written(json)), outcomes)
    const lines = written(ndjson).trimEnd().split("\n")
    assert.deepStrictEqual(
      lines.map((line) => JSON.parse(line)),
      outcomes,
    )
    assert.strictEqual(json.begin + json.end, "[\n]\n")
    const document = `${written(OutcomeFormat.document)}"summary":{}}`
    assert.deepStrictEqual(JSON.parse(document), { outcomes, summary: {} })
  })

  it("the output format of a bulk check follows from the extension of the output file", () => {
    const names = ["a.csv", "b.CSV", "a.json", "a.jsonl", "a.ndjson", "a.txt", "csv", "a.table"]
    assert.deepStrictEqual(names.map(OutcomeFormat.ofFile), [
      "csv",
      "csv",
      "json",
      "ndjson",
      "ndjson",
      undefined,
      undefined,
      "table",
    ])
  })
})
