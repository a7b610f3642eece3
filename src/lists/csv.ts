import Papa from "papaparse"

/**
 * Text that a spreadsheet would run as a formula. A number with a sign, such as -4 or +1,5 %, is
 * none.
 */
const formula = /^(?:[=@\t\r\n]|[+-](?!\d[\d.,]*(?:e[+-]?\d+)?\s?%?$))/i

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
    { delimiter, newline, escapeFormulae: formula },
  )
