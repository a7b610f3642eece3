/**
 * The output formats of the outcomes. Every format can be written row by row, as answers arrive.
 */
import type { Outcome } from "../client/Outcomes.ts"
import { csv } from "../list/csv.ts"

export const names = ["table", "csv", "json", "ndjson"] as const
export type Name = (typeof names)[number]

export interface OutcomeFormat {
  readonly begin: string
  readonly rows: (outcomes: ReadonlyArray<Outcome>, areFirst: boolean) => string
  readonly end: string
}

/**
 * Returns the format that a file's extension names; undefined when the extension names no format.
 */
export const ofFile = (filename: string): Name | undefined => {
  const [, extension = ""] = /\.([a-z]+)$/i.exec(filename) ?? []
  const name = extension.toLowerCase().replace("jsonl", "ndjson")
  return names.find((known) => known === name)
}

const line = (write: (outcome: Outcome) => string) => (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map((outcome) => `${write(outcome)}\n`).join("")

/** The URL is the last column, because its length varies. */
const tableRow = (outcome: Outcome) => {
  const [domain, page, spam, reason] = cellsOf(outcome)
  return [
    String(domain ?? "").padStart(6),
    String(page ?? "").padStart(6),
    String(spam ?? "").padStart(6),
    (reason ?? "").padEnd(14),
    // A terminal would execute control characters in an untrusted URL.
    outcome.url.replaceAll(/\p{Cc}/gu, "\uFFFD"),
  ].join("  ")
}

const csvRow = (outcome: Outcome) => csv([[outcome.url, ...cellsOf(outcome)]])

const cellsOf = (outcome: Outcome) =>
  "reason" in outcome
    ? ([null, null, null, outcome.reason] as const)
    : ([outcome.domainAuthority, outcome.pageAuthority, outcome.spamScore ?? null, null] as const)

const elements = (outcomes: ReadonlyArray<Outcome>, areFirst: boolean) =>
  outcomes
    .map((outcome, i) => `${areFirst && i === 0 ? "" : ","}\n${JSON.stringify(outcome)}`)
    .join("")

export const formats: Readonly<Record<Name, OutcomeFormat>> = {
  table: {
    begin: "DOMAIN    PAGE    SPAM  REASON          URL\n",
    rows: line(tableRow),
    end: "",
  },
  csv: {
    begin: "url,domainAuthority,pageAuthority,spamScore,reason\n",
    rows: line(csvRow),
    end: "",
  },
  json: { begin: "[", rows: elements, end: "\n]\n" },
  ndjson: { begin: "", rows: line((outcome) => JSON.stringify(outcome)), end: "" },
}

/**
 * The format of `--json` without an output file: one JSON document. The caller writes the summary,
 * which ends the document.
 */
export const document: OutcomeFormat = {
  begin: '{"outcomes":[',
  rows: elements,
  end: "\n],",
}
