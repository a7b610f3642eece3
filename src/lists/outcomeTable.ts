/**
 * The columns of a file of outcomes, from `authority check` or the console (first the list's own
 * columns, then ours), and how tables are written as CSV.
 */
import Papa from "papaparse"
import type { Failure, Success } from "../contract/Wire.ts"
import type { Item, Table } from "./UrlList.ts"

/** The list's own columns; undefined for a file that has only the URL. */
export type OwnColumns = Pick<Table, "column" | "columns"> | undefined

const columns = [
  "domainAuthority",
  "pageAuthority",
  "spamScore",
  "reason",
  "provider",
  "source",
  "fetched_at",
  "index",
  "of",
  "cause",
  "detail",
] as const

type Cells = Readonly<Partial<Record<(typeof columns)[number], string | number | null>>>

/** The cells of our columns. They are empty for a URL without an outcome. */
export const cellsOf = (outcome: Success | Failure | undefined) => {
  const cells: Cells =
    outcome === undefined || "reason" in outcome
      ? { ...outcome }
      : { ...outcome, ...outcome.provenance, fetched_at: outcome.provenance?.fetchedAt ?? null }
  return columns.map((column) => cells[column])
}

export const headerOf = (own: OwnColumns): ReadonlyArray<string> =>
  own === undefined ? ["url", ...columns] : [...distinct(own.columns, columns), ...columns]

export const rowOf = (
  { others, url }: Item,
  outcome: Success | Failure | undefined,
  own: OwnColumns,
) => [
  ...(own === undefined ? [url] : others.toSpliced(own.column ?? 0, 0, url)),
  ...cellsOf(outcome),
]

/** The cells of a list's row by column name, without the column of the URLs. */
export const ownCells = ({ others }: Item, { column, columns }: NonNullable<OwnColumns>) => {
  const names = distinct(
    columns.filter((_, i) => i !== column),
    [],
  )
  return Object.fromEntries(names.map((name, i) => [name, others[i] ?? ""]))
}

/** Makes column names distinct by adding a suffix to a name that is already in use. */
export const distinct = (names: ReadonlyArray<string>, taken: ReadonlyArray<string>) => {
  const used = new Set(taken)
  const numbers = new Map<string, number>()
  return names.map((name) => {
    let found = taken.includes(name) ? `${name} (list)` : name
    // All smaller numbers are already in use.
    let number = numbers.get(name) ?? 2
    for (; used.has(found); number++) found = `${name} ${number}`
    numbers.set(name, number)
    used.add(found)
    return found
  })
}

/**
 * Matches text that a spreadsheet would run as a formula. A signed number, such as -4 or +1,5 %, is
 * not one.
 */
const formula = /^(?:[=@\t\r\n]|[+-](?!\d[\d.,]*(?:e[+-]?\d+)?\s?%?$))/i

/**
 * Writes rows as CSV (RFC 4180), without a line break after the last row. Puts `'` before text that
 * a spreadsheet would run as a formula.
 */
export const csv = (
  rows: ReadonlyArray<ReadonlyArray<string | number | null | undefined>>,
  { delimiter = ",", newline = "\n" } = {},
): string =>
  Papa.unparse(
    rows.map((row) => [...row]),
    { delimiter, newline, escapeFormulae: formula },
  )
