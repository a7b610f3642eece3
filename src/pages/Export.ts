/** Formats results for spreadsheets and programs. */
import Papa from "papaparse"
import type { Row } from "./Run.ts"

export interface Results {
  readonly rows: ReadonlyArray<Row>
  /** The columns of `Row.lines`. */
  readonly others: ReadonlyArray<string>
}

const columns = ["url", "domainAuthority", "pageAuthority", "spamScore", "reason"]

/** CSV as in RFC 4180, with a byte order mark so that spreadsheets detect UTF-8. */
export const csv = (results: Results): string => `\uFEFF${table(results, ",", "\r\n")}\r\n`

/** Cells separated by tabs, to be pasted into a spreadsheet. */
export const tsv = (results: Results): string => table(results, "\t", "\n")

/**
 * One line per line of the list, with its other columns. A cell that looks like a formula gets a
 * leading apostrophe, because lists are untrusted input.
 */
const table = ({ others, rows }: Results, delimiter: string, newline: string): string =>
  Papa.unparse(
    {
      fields: [...columns, ...others.map(otherName)],
      data: rows.flatMap(({ figures, lines = [[]], reason, url }) =>
        lines.map((cells) => [
          url,
          figures?.domainAuthority,
          figures?.pageAuthority,
          figures?.spamScore,
          reason,
          ...cells,
        ]),
      ),
    },
    { delimiter, escapeFormulae: true, newline },
  )

/** No two columns have the same name. */
const otherName = (name: string) => (columns.includes(name) ? `${name} (list)` : name)

/** One object per line of the list. What has no figures yet has neither figures nor a reason. */
export const json = ({ others, rows }: Results): string => {
  const objects = rows.flatMap(({ figures, lines = [[]], reason, url }) =>
    lines.map((cells) => ({
      url,
      ...figures,
      reason,
      list: others.length === 0 ? undefined : named(others, cells),
    })),
  )
  return `${JSON.stringify(objects, undefined, 2)}\n`
}

const named = (names: ReadonlyArray<string>, cells: ReadonlyArray<string>) =>
  Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ""]))
