/**
 * Reads a list of URLs piece by piece, in browsers too: the URLs of each line, or one column of a
 * CSV. Skips blank lines and lines that begin with `#`.
 */
import Papa from "papaparse"
import { counted } from "../text/counted.ts"

/** The list cannot be read. `message` says why, but does not name the list. */
export class UnreadableList extends Error {}

export interface Item {
  readonly url: string
  /** The other cells of the row; empty when the list is not a CSV. */
  readonly others: ReadonlyArray<string>
}

/** The layout of a CSV, found in its first rows. */
export interface Table {
  readonly delimiter: string
  readonly hasHeader: boolean
  /** The name of each column: its cell in the header, or `column 1` and so on. */
  readonly columns: ReadonlyArray<string>
  /** The index of the column with the URLs; undefined when the user has to choose a column. */
  readonly column: number | undefined
  /** The indexes of the columns from which the user can choose. */
  readonly candidates: ReadonlyArray<number>
}

export interface Reader {
  /** Reads the next piece of the text. Returns no items while the layout is unknown. */
  readonly push: (piece: string) => ReadonlyArray<Item>
  readonly end: () => ReadonlyArray<Item>
  /** Undefined when the list is not a CSV, and until enough text is read. */
  readonly table: () => Table | undefined
}

/**
 * Makes a reader of one list. `asked` is the column of a CSV that has the URLs: its name, or its
 * number from 1. The methods of the reader throw UnreadableList.
 */
export const reader = (asked?: string): Reader => {
  let head = ""
  let carriageReturn = ""
  let table: Table | undefined
  let itemsOf: ((piece: string, isLast: boolean) => ReadonlyArray<Item>) | undefined
  const read = (piece: string, isLast: boolean): ReadonlyArray<Item> => {
    if (piece.includes("\0")) {
      throw new UnreadableList("is not a text file; save a spreadsheet as CSV")
    }
    const whole = carriageReturn + piece.replaceAll("\uFEFF", "")
    // A line feed that follows may be in the next piece.
    carriageReturn = !isLast && whole.endsWith("\r") ? "\r" : ""
    const text = whole.slice(0, whole.length - carriageReturn.length).replaceAll(/\r\n?/g, "\n")
    if (itemsOf !== undefined) return itemsOf(text, isLast)
    head += text
    const lines = head.split("\n", sampledLines + 1)
    const isWhole = isLast && lines.length <= sampledLines
    if (!isLast && lines.length <= sampledLines && head.length <= maxRowLength) return []
    table = tableOf(lines.slice(0, sampledLines).join("\n"), isWhole, asked)
    itemsOf = table === undefined ? ofLines() : ofTable(table)
    return itemsOf(head, isLast)
  }
  return { push: (piece) => read(piece, false), end: () => read("", true), table: () => table }
}

/** How many lines at the start of a list show whether it is a CSV. */
const sampledLines = 100
const maxRowLength = 1_000_000

/**
 * Decodes a file. UTF-16 needs a byte order mark, which the programs that write UTF-16 add; all
 * other bytes are UTF-8.
 */
export async function* decoded(bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
  let start: ReadonlyArray<number> = []
  let decoder: InstanceType<typeof TextDecoder> | undefined
  for await (const piece of bytes) {
    if (decoder === undefined) {
      const [first, second] = [...start, ...piece.subarray(0, 2)]
      if (first === undefined) continue
      if (second === undefined) {
        start = [first]
        continue
      }
      decoder = new TextDecoder(encodings[first * 256 + second] ?? "utf-8")
      yield decoder.decode(Uint8Array.from(start), { stream: true })
    }
    yield decoder.decode(piece, { stream: true })
  }
  yield decoder?.decode() ?? new TextDecoder().decode(Uint8Array.from(start))
}

const encodings: Readonly<Record<number, string>> = { 0xfffe: "utf-16le", 0xfeff: "utf-16be" }

/** A delimiter for text that is not a CSV. `reader` refuses text that contains it. */
const none = "\0"

/** Makes a function that splits text into rows, and keeps the start of an incomplete row. */
const splitter = (delimiter: string) => {
  let rest = ""
  return (piece: string, isLast: boolean): ReadonlyArray<ReadonlyArray<string>> => {
    rest += piece
    const rows: Array<ReadonlyArray<string>> = []
    let [start, end] = [0, 0]
    Papa.parse<Array<string>>(rest, {
      delimiter,
      newline: "\n",
      comments: "#",
      // Quotation marks have no meaning in a list of URLs.
      ...(delimiter === none && { fastMode: true }),
      step: ({ data, meta }) => {
        rows.push(data)
        start = end
        end = meta.cursor
      },
    })
    if (!isLast) {
      void rows.pop()
      rest = rest.slice(start)
      if (rest.length > maxRowLength) {
        throw new UnreadableList(
          "has a line of more than a million characters; give a list with one URL per line, or a CSV",
        )
      }
    }
    return rows.filter((row) => row.some((cell) => cell.trim() !== ""))
  }
}

const ofLines = () => {
  const split = splitter(none)
  let isFirst = true
  return (piece: string, isLast: boolean) => {
    const lines = split(piece, isLast).map(([line = ""]) => line.trim())
    const hasTitle = isFirst && title.test(lines[0] ?? "")
    isFirst &&= lines.length === 0
    return lines
      .slice(hasTitle ? 1 : 0)
      .filter((line) => !line.startsWith("#"))
      .flatMap((line) => urlsOf(line).map((url): Item => ({ url, others: [] })))
  }
}

const ofTable = ({ column, columns, delimiter, hasHeader }: Table) => {
  const split = splitter(delimiter)
  let skipped = hasHeader ? 1 : 0
  return (piece: string, isLast: boolean) => {
    const rows = split(piece, isLast)
    const body = rows.slice(skipped)
    skipped -= rows.length - body.length
    if (column === undefined) return []
    return body.flatMap((row): ReadonlyArray<Item> => {
      const url = row[column]?.trim() ?? ""
      const others = columns.flatMap((_, i) => (i === column ? [] : [row[i] ?? ""]))
      return url === "" ? [] : [{ url, others }]
    })
  }
}

const tableOf = (text: string, isWhole: boolean, asked: string | undefined): Table | undefined => {
  const split = (delimiter: string) => splitter(delimiter)(text, isWhole)
  const [delimiter, rows] = ["\t", ";", ","]
    .map((delimiter) => [delimiter, split(delimiter)] as const)
    .reduce((best, other) => (widthOf(other[1]) > widthOf(best[1]) ? other : best))
  const [first, ...others] = rows
  if (first === undefined) return undefined
  const isNamed = asked !== undefined && !isNumber(asked)
  const hasUrls = others.some((row) => row.some(isUrl))
  const hasHeader =
    isNamed || (!first.some(isUrl) && (hasUrls || first.some((cell) => title.test(cell.trim()))))
  if (asked === undefined && !isTable(rows, hasHeader && hasUrls, split(none))) return undefined
  const columns = first.map((cell, i) => (hasHeader && cell.trim()) || `column ${i + 1}`)
  const candidates = candidatesOf(columns, hasHeader ? others : rows)
  const [only, second] = candidates
  const found = second === undefined ? only : undefined
  const column = asked === undefined ? found : indexOf(asked, columns)
  return { delimiter, hasHeader, columns, column, candidates }
}

const widthOf = ([first]: ReadonlyArray<ReadonlyArray<string>>) => first?.length ?? 0

// True when half of the rows are as wide as the first one, and the rows have a header, or most
// lines are no URLs as they stand. A URL may contain a comma.
const isTable = (
  rows: ReadonlyArray<ReadonlyArray<string>>,
  hasHeader: boolean,
  lines: ReadonlyArray<ReadonlyArray<string>>,
) => {
  const width = widthOf(rows)
  const isQuoted = lines[0]?.[0]?.trimStart().startsWith('"') ?? false
  const urls = lines.filter(([line = ""]) => urlsOf(line).every(isUrl))
  return (
    (width > 1 || isQuoted) &&
    rows.filter((row) => row.length === width).length * 2 >= rows.length &&
    (hasHeader || (rows.some((row) => row.some(isUrl)) && urls.length * 2 < lines.length))
  )
}

// Returns the columns in which at least half of the cells are URLs. When there are several, prefers
// the only one with a usual name. When there are none, returns all columns.
const candidatesOf = (
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
): ReadonlyArray<number> => {
  const all = columns.map((_, i) => i)
  const ofUrls = all.filter((i) => {
    const cells = rows.map((row) => row[i] ?? "").filter((cell) => cell.trim() !== "")
    return cells.length > 0 && cells.filter(isUrl).length * 2 >= cells.length
  })
  if (ofUrls.length === 1) return ofUrls
  const possible = ofUrls.length === 0 ? all : ofUrls
  const titled = possible.filter((i) => title.test(columns[i] ?? ""))
  return titled.length === 1 ? titled : possible
}

const isNumber = (column: string) => /^[1-9]\d{0,3}$/.test(column)

const indexOf = (asked: string, columns: ReadonlyArray<string>): number => {
  if (isNumber(asked)) {
    if (Number(asked) <= columns.length) return Number(asked) - 1
    throw new UnreadableList(
      `has no column ${asked}, because its first row has ${counted(columns.length, "column")}`,
    )
  }
  const name = asked.trim().toLowerCase()
  const index = columns.findIndex((column) => column.toLowerCase() === name)
  if (index >= 0) return index
  const names = columns.map((column) => JSON.stringify(column)).join(", ")
  throw new UnreadableList(`has no column ${JSON.stringify(asked)}; its columns are ${names}`)
}

const title =
  /^(urls?|domains?|(web ?)?sites?|(web ?)?pages?|(web ?)?address(es)?|links?|hosts?|host ?names?|targets?)$/i

/** True for text that looks like a URL of a public host: a cell such as 2.35 does not. */
const isUrl = (cell: string) =>
  /^(https?:)?(\/\/)?([\p{L}\p{M}\p{N}_-]+\.)+\p{L}[\p{L}\p{M}\p{N}-]+\.?(:\d+)?([/?#]\S*)?$/iu.test(
    cell.trim(),
  )

// Splits a line into its URLs, at tabs, commas and semicolons. Does not split at a comma or
// semicolon that may be part of a URL, as in `example.com/a,b`.
const urlsOf = (line: string): ReadonlyArray<string> => {
  const split = (separator: RegExp) =>
    line.split(separator).flatMap((cell) => (cell.trim() === "" ? [] : [cell.trim()]))
  const narrow = split(/[\t,;]/)
  const isSafe =
    narrow.every((cell) => !/[/?#]/.test(cell)) || narrow.every((cell) => /^https?:/i.test(cell))
  if (isSafe && narrow.every(isUrl)) return narrow
  const wide = split(/\t|[,;](?:\s+|$)/)
  return wide.every(isUrl) ? wide : [line]
}
