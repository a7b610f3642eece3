/** The output formats, each of which can be written row by row as answers arrive. */
import type { Outcome } from "../client/Outcomes.ts"
import { cellsOf, csv, headerOf, type OwnColumns, ownCells, rowOf } from "./outcomeTable.ts"
import type { Item } from "./UrlList.ts"

export const names = ["table", "csv", "tsv", "json", "ndjson"] as const
export type Name = (typeof names)[number]

/** A row of the list and its outcome; undefined for a URL that was left out. */
export interface Row {
  readonly item: Item
  readonly outcome: Outcome | undefined
}

export interface OutcomeFormat {
  readonly begin: (own: OwnColumns) => string
  readonly rows: (rows: ReadonlyArray<Row>, own: OwnColumns, areFirst: boolean) => string
  readonly end: string
}

/**
 * Returns the format for a file's extension, and the table for a file without an extension. Returns
 * undefined for an unknown extension.
 */
export const ofFile = (filename: string): Name | undefined => {
  const [, extension = "table"] = /\.([a-z]+)$/i.exec(filename) ?? []
  const name = extension.toLowerCase()
  return names.find((known) => known === (otherEndings[name] ?? name))
}

const otherEndings: Readonly<Record<string, Name>> = { jsonl: "ndjson", tab: "tsv", txt: "table" }

/** The URL is the last column, because its length varies. */
const tableRow = ({ item, outcome }: Row) => {
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
    item.url.replaceAll(/\p{Cc}/gu, "\uFFFD"),
  ].join("  ")
}

const objectOf = ({ item, outcome }: Row, own: OwnColumns) =>
  JSON.stringify({
    url: item.url,
    ...outcome,
    ...(own !== undefined && { list: ownCells(item, own) }),
  })

const elements: OutcomeFormat["rows"] = (rows, own, areFirst) =>
  rows.map((row, i) => `${areFirst && i === 0 ? "" : ","}\n${objectOf(row, own)}`).join("")

const separated = (delimiter: string, hasMark: boolean): OutcomeFormat => ({
  begin: (own) => `${hasMark ? "\uFEFF" : ""}${csv([headerOf(own)], { delimiter })}\n`,
  rows: (rows, own) =>
    `${csv(
      rows.map(({ item, outcome }) => rowOf(item, outcome, own)),
      { delimiter },
    )}\n`,
  end: "",
})

export const make = (
  name: Name,
  options: {
    readonly delimiter?: string | undefined
    /** True if the file begins with a byte order mark, by which spreadsheets recognize UTF-8. */
    readonly hasMark: boolean
  },
): OutcomeFormat => {
  const { delimiter, hasMark } = options
  switch (name) {
    case "table":
      return {
        begin: () => "DOMAIN    PAGE    SPAM  REASON          SOURCE    DATE        URL\n",
        rows: (rows) => rows.map((row) => `${tableRow(row)}\n`).join(""),
        end: "",
      }
    case "csv":
      return separated(delimiter ?? ",", hasMark)
    case "tsv":
      return separated(delimiter ?? "\t", hasMark)
    case "json":
      return { begin: () => "[", rows: elements, end: "\n]\n" }
    case "ndjson":
      return {
        begin: () => "",
        rows: (rows, own) => rows.map((row) => `${objectOf(row, own)}\n`).join(""),
        end: "",
      }
  }
}

/**
 * The format of `--json` without an output file: one JSON document, which the caller completes with
 * the summary.
 */
export const document: OutcomeFormat = {
  begin: () => '{"outcomes":[',
  rows: elements,
  end: "\n],",
}
