/**
 * The output formats of the outcomes. Every format can be written row by row, as answers arrive.
 */
import type { Outcome } from "../client/Outcomes.ts"
import { csv } from "../list/csv.ts"
import { cellsOf, columns } from "../list/OutcomeColumns.ts"

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
  const [domain, page, spam, reason, , source, fetchedAt, index] = cellsOf(outcome).map((cell) =>
    String(cell ?? ""),
  )
  return [
    domain?.padStart(6),
    page?.padStart(6),
    spam?.padStart(6),
    reason?.padEnd(14),
    (index?.includes("estimate") === true ? "estimate" : source)?.padEnd(8),
    fetchedAt?.slice(0, 10).padEnd(10),
    // A terminal would execute control characters in an untrusted URL.
    outcome.url.replaceAll(/\p{Cc}/gu, "\uFFFD"),
  ].join("  ")
}

const csvRow = (outcome: Outcome) => csv([[outcome.url, ...cellsOf(outcome)]])

const elements = (outcomes: ReadonlyArray<Outcome>, areFirst: boolean) =>
  outcomes
    .map((outcome, i) => `${areFirst && i === 0 ? "" : ","}\n${JSON.stringify(outcome)}`)
    .join("")

export const formats: Readonly<Record<Name, OutcomeFormat>> = {
  table: {
    begin: "DOMAIN    PAGE    SPAM  REASON          SOURCE    DATE        URL\n",
    rows: line(tableRow),
    end: "",
  },
  csv: {
    begin: `url,${columns.join()}\n`,
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
