/** Formats results for spreadsheets and programs, with the columns of `authority check`. */
import { csv as csvOf } from "../../lists/outcomeTable.ts"
import { headerOf, type OwnColumns, ownCells, rowOf } from "../../lists/outcomeTable.ts"
import type { Row } from "./Row.ts"

export interface Results {
  readonly rows: ReadonlyArray<Row>
  /** The columns of the user's table; undefined for a list without columns. */
  readonly own: OwnColumns
}

/** Returns CSV as in RFC 4180, with a byte order mark so that spreadsheets detect UTF-8. */
export const csv = (results: Results): string => `\uFEFF${table(results, ",", "\r\n")}\r\n`

/** Returns cells separated by tabs, which can be pasted into a spreadsheet. */
export const tsv = (results: Results): string => table(results, "\t", "\n")

const table = ({ own, rows }: Results, delimiter: string, newline: string): string =>
  csvOf([headerOf(own), ...rows.map((row) => rowOf(row, row.outcome, own))], { delimiter, newline })

/**
 * Returns a JSON array with one object for each row. An object with neither figures nor a `reason`
 * has a URL that has not been checked yet.
 */
export const json = ({ own, rows }: Results): string => {
  const objects = rows.map((row) => ({
    url: row.url,
    ...row.outcome,
    ...(own !== undefined && { list: ownCells(row, own) }),
  }))
  return `${JSON.stringify(objects, undefined, 2)}\n`
}
