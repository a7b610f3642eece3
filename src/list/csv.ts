import Papa from "papaparse"

/**
 * Writes rows as CSV (RFC 4180), without a line end after the last row. Adds `'` to text that a
 * spreadsheet would run as a formula.
 */
export const csv = (
  rows: ReadonlyArray<ReadonlyArray<string | number | null | undefined>>,
  { delimiter = ",", newline = "\n" } = {},
): string =>
  Papa.unparse(
    rows.map((row) => [...row]),
    { delimiter, newline, escapeFormulae: /^[=+\-@\t\r\n]/ },
  )
