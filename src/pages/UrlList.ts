/** Reads the addresses from a pasted text or a file. */
import Papa from "papaparse"

export interface UrlList {
  readonly urls: ReadonlyArray<string>
  /** How many repeated addresses were left out. */
  readonly duplicates: number
  /** The column of the table that was used; undefined for a list of lines. */
  readonly column: string | undefined
}

/**
 * Reads one address per line, or the address column of a table from a spreadsheet. Skips blank
 * lines, and in a list also lines that start with `#`.
 */
export const read = (text: string, options: { readonly keepsDuplicates: boolean }): UrlList => {
  const { cells, column } = cellsOf(text.replace(/^\uFEFF/, ""))
  const all = cells.map((cell) => cell.trim()).filter((cell) => cell !== "")
  const urls = options.keepsDuplicates ? all : [...new Set(all)]
  return { urls, duplicates: all.length - urls.length, column }
}

const cellsOf = (
  text: string,
): { readonly cells: ReadonlyArray<string>; readonly column: string | undefined } => {
  const table = tableOf(text)
  if (table === undefined) {
    const lines = text.split(/\r\n|[\n\r]/).filter((line) => !line.trimStart().startsWith("#"))
    const isTitled = title.test(lines[0]?.trim() ?? "")
    return { cells: isTitled ? lines.slice(1) : lines, column: undefined }
  }
  const [first = [], ...others] = table
  if (others.length === 0) return { cells: first, column: undefined }
  const titled = first.findIndex((cell) => title.test(cell.trim()))
  const column = titled === -1 ? mostAddresses(table) : titled
  const isHead = titled !== -1 || !isAddressLike(first[column] ?? "")
  return {
    cells: (isHead ? others : table).map((row) => row[column] ?? ""),
    column: (isHead && first[column]?.trim()) || `column ${column + 1}`,
  }
}

/** The usual names of an address column. */
const title =
  /^(urls?|domains?|(web ?)?sites?|(web ?)?(page|address)(es)?|links?|hosts?|host ?names?|targets?)$/i

const isAddressLike = (cell: string) => /^\s*\S+\.\S{2,}\s*$/.test(cell)

const delimiters = ["\t", ";", ","]
const sampled = 50

/** Returns the rows of a table; undefined unless 90 % of the first 50 rows have the same width. */
const tableOf = (text: string): ReadonlyArray<ReadonlyArray<string>> | undefined => {
  const delimiter = delimiters.find((delimiter) => {
    const rows = parse(text, delimiter, sampled)
    const width = rows[0]?.length ?? 0
    const even = rows.filter((row) => row.length === width).length
    return width > 1 && even >= rows.length * 0.9
  })
  return delimiter === undefined ? undefined : parse(text, delimiter, 0)
}

const parse = (text: string, delimiter: string, preview: number) =>
  Papa.parse<Array<string>>(text, { delimiter, preview, skipEmptyLines: "greedy" }).data

const mostAddresses = (table: ReadonlyArray<ReadonlyArray<string>>): number => {
  const counts: Array<number> = []
  for (const row of table.slice(0, sampled)) {
    row.forEach((cell, column) => {
      if (isAddressLike(cell)) counts[column] = (counts[column] ?? 0) + 1
    })
  }
  const most = Math.max(...Array.from(counts, (count = 0) => count), 1)
  return Math.max(0, counts.indexOf(most))
}
