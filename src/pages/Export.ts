/** Formats results for spreadsheets and programs. */
import { csv as csvOf } from "../list/csv.ts"
import { distinct } from "../list/outcomeTable.ts"
import type { Row } from "./Row.ts"

export interface Results {
  readonly rows: ReadonlyArray<Row>
  /**
   * The names of the columns of the user's table, except the column with the URLs. Each array in
   * `Row.lines` has one cell for each name.
   */
  readonly others: ReadonlyArray<string>
}

const columns = ["url", "domainAuthority", "pageAuthority", "spamScore", "reason"]

/** Returns CSV as in RFC 4180, with a byte order mark so that spreadsheets detect UTF-8. */
export const csv = (results: Results): string => `\uFEFF${table(results, ",", "\r\n")}\r\n`

/** Returns cells separated by tabs, which can be pasted into a spreadsheet. */
export const tsv = (results: Results): string => table(results, "\t", "\n")

const table = ({ others, rows }: Results, delimiter: string, newline: string): string =>
  csvOf(
    [
      [...columns, ...distinct(others, columns)],
      ...rows.flatMap(({ figures, lines = [[]], reason, url }) =>
        lines.map((cells) => [
          url,
          figures?.domainAuthority,
          figures?.pageAuthority,
          figures?.spamScore,
          reason,
          ...cells,
        ]),
      ),
    ],
    { delimiter, newline },
  )

/**
 * Returns a JSON array with one object for each line of the user's list. If an object has neither
 * figures nor a `reason`, its URL is not checked yet.
 */
export const json = ({ others, rows }: Results): string => {
  const names = distinct(others, [])
  const objects = rows.flatMap(({ figures, lines = [[]], reason, url }) =>
    lines.map((cells) => ({
      url,
      ...figures,
      reason,
      list: others.length === 0 ? undefined : named(names, cells),
    })),
  )
  return `${JSON.stringify(objects, undefined, 2)}\n`
}

const named = (names: ReadonlyArray<string>, cells: ReadonlyArray<string>) =>
  Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ""]))
