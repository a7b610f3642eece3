/** Reads the URLs from a pasted text or a file. */
import Papa from "papaparse"

/**
 * The part of the text that has the URLs: one column of the table (its index), every cell of the
 * table (`cells`), or every line of plain text, with one URL in each (`lines`).
 */
export type Reading = number | "cells" | "lines"

/** A URL of the list. */
export interface Item {
  readonly url: string
  /**
   * One array for each table line that contains this URL: the cells of the line without the cell of
   * the URL.
   */
  readonly lines?: ReadonlyArray<ReadonlyArray<string>>
}

export interface UrlList {
  readonly items: ReadonlyArray<Item>
  /** How many repeated URLs were left out. */
  readonly duplicates: number
  /** The names of all columns of the table; empty when the text is not a table. */
  readonly columns: ReadonlyArray<string>
  readonly reading: Reading
  /**
   * The names of the columns of the user's table, except the column with the URLs. Each array in
   * `Item.lines` has one cell for each name.
   */
  readonly others: ReadonlyArray<string>
}

export interface Options {
  readonly keepsDuplicates: boolean
  /**
   * The part of the text that has the URLs. Default: detected from the names and the cells of the
   * columns.
   */
  readonly reading?: Reading | undefined
}

/**
 * Reads a list with one URL per line, or a table from a spreadsheet. Skips blank lines. In a list,
 * also skips lines that start with `#`.
 */
export const read = (text: string, options: Options): UrlList => {
  const { columns, items, others, reading } = itemsOf(text.replace(/^\uFEFF/, ""), options.reading)
  const all = items.filter(({ url }) => url !== "")
  const kept = options.keepsDuplicates ? all : withoutDuplicates(all)
  return { items: kept, duplicates: all.length - kept.length, columns, reading, others }
}

/** Removes repeated URLs. The first occurrence gets the table lines of all later occurrences. */
const withoutDuplicates = (items: ReadonlyArray<Item>): ReadonlyArray<Item> => {
  const linesOf = new Map<string, Array<ReadonlyArray<string>>>()
  for (const { lines = [], url } of items) {
    const known = linesOf.get(url)
    if (known === undefined) linesOf.set(url, [...lines])
    else known.push(...lines)
  }
  return Array.from(linesOf, ([url, lines]) => (lines.length === 0 ? { url } : { url, lines }))
}

const itemsOf = (
  text: string,
  asked: Reading | undefined,
): Pick<UrlList, "items" | "columns" | "reading" | "others"> => {
  const table = tableOf(text)
  if (table === undefined) {
    return { items: lines(text).flatMap(cellsOf).map(item), ...withoutTable }
  }
  const [first = [], ...rest] = table
  const titled = first.findIndex((cell) => title.test(cell.trim()))
  const found = titled !== -1 ? titled : hasOnlyUrls(table) ? "cells" : mostUrls(table)
  const isHead =
    rest.length > 0 && found !== "cells" && (titled !== -1 || !isUrlLike(first[found] ?? ""))
  const columns = first.map((cell, index) => (isHead && cell.trim()) || `column ${index + 1}`)
  const reading = typeof asked === "number" && asked >= columns.length ? found : (asked ?? found)
  if (reading === "lines")
    return { ...withoutTable, items: lines(text).map(item), columns, reading }
  const body = isHead ? rest : table
  if (reading === "cells") {
    return { ...withoutTable, items: body.flatMap((row) => row.map(item)), columns, reading }
  }
  const others = columns.flatMap((_, index) => (index === reading ? [] : [index]))
  return {
    items: body.map((row) => ({
      ...item(row[reading] ?? ""),
      lines: [others.map((index) => row[index] ?? "")],
    })),
    columns,
    reading,
    others: others.map((index) => columns[index] ?? ""),
  }
}

const item = (cell: string): Item => ({ url: cell.trim() })

const withoutTable = { columns: [], reading: "lines", others: [] } as const

const lines = (text: string): ReadonlyArray<string> => {
  const all = text.split(/\r\n|[\n\r]/).filter((line) => !line.trimStart().startsWith("#"))
  return title.test(all[0]?.trim() ?? "") ? all.slice(1) : all
}

/**
 * Splits a line of plain text into its URLs, at tabs, commas and semicolons. Does not split at a
 * comma or semicolon that may be part of a URL, as in `example.com/a,b`.
 */
const cellsOf = (line: string): ReadonlyArray<string> => {
  if (!/[\t,;]/.test(line)) return [line]
  const wide = line.split(/\t|[,;]\s+/).filter((cell) => cell.trim() !== "")
  if (!wide.every(isUrlLike)) return [line]
  const narrow = wide.flatMap((cell) => cell.split(/[,;]/)).filter((cell) => cell.trim() !== "")
  const isSafe =
    narrow.every((cell) => isUrlLike(cell) && !/[/?#]/.test(cell)) ||
    narrow.every((cell) => /^\s*https?:\/\//i.test(cell))
  return isSafe ? narrow : wide
}

/** Matches the usual names of a column of URLs. */
const title =
  /^(urls?|domains?|(web ?)?sites?|(web ?)?(page|address)(es)?|links?|hosts?|host ?names?|targets?)$/i

const isUrlLike = (cell: string) => /^\s*\S+\.\S{2,}\s*$/.test(cell)

const delimiters = ["\t", ";", ","]
const sampled = 50

/**
 * Returns the rows of a table. Returns undefined unless at least 90 % of the first 50 rows have as
 * many cells as the first row.
 */
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

const hasOnlyUrls = (table: ReadonlyArray<ReadonlyArray<string>>): boolean =>
  table.slice(0, sampled).every((row) => row.every((cell) => cell === "" || isUrl(cell)))

/** True for a URL. `isUrlLike` also accepts numbers such as 2.35; this function does not. */
const isUrl = (cell: string) => isUrlLike(cell) && /\.\p{L}/u.test(cell)

const mostUrls = (table: ReadonlyArray<ReadonlyArray<string>>): number => {
  const counts: Array<number> = []
  for (const row of table.slice(0, sampled)) {
    row.forEach((cell, column) => {
      if (isUrlLike(cell)) counts[column] = (counts[column] ?? 0) + 1
    })
  }
  const most = Math.max(...Array.from(counts, (count = 0) => count), 1)
  return Math.max(0, counts.indexOf(most))
}
