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
  let layout: Layout | undefined
  let itemsOf: ((piece: string, isLast: boolean) => ReadonlyArray<Item>) | undefined
  const read = (piece: string, isLast: boolean): ReadonlyArray<Item> => {
    if (itemsOf === undefined && isWorkbook(head.slice(0, 4) + piece)) {
      throw new UnreadableList("is a workbook or an archive; save the sheet with the URLs as CSV")
    }
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
    const [first = "", separator] = /^"?sep=(.)"?(?:\n|$)/i.exec(head) ?? []
    head = head.slice(first.length)
    const sample = head.split("\n", sampledLines).join("\n")
    layout = layoutOf(sample, { isWhole, asked, separator })
    itemsOf = layout === undefined ? ofLines() : ofTable(layout, first === "" ? 1 : 2)
    return itemsOf(head, isLast)
  }
  return {
    push: (piece) => read(piece, false),
    end: () => read("", true),
    table: () => layout?.table,
  }
}

/** The first bytes of a zip archive, which an .xlsx file is, and of an .xls file. */
const isWorkbook = (text: string) =>
  ["PK\u0003\u0004", "\u00D0\u00CF\u0011\u00E0"].some((mark) => text.startsWith(mark))

/** How many lines at the start of a list show whether it is a CSV. */
const sampledLines = 100
const maxRowLength = 1_000_000

/**
 * Decodes a file. UTF-16 needs a byte order mark, which the programs that write UTF-16 add. Bytes
 * that are not UTF-8 are read as Windows-1252, and `onWindows1252` is called.
 */
export async function* decoded(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onWindows1252: () => void = () => {},
) {
  let rest = new Uint8Array()
  let decoder: InstanceType<typeof TextDecoder> | undefined
  let isStarted = false
  const utf8 = (end: number) => {
    const whole = rest.subarray(0, end)
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(whole)
      rest = rest.slice(end)
      return text
    } catch {
      onWindows1252()
      decoder = new TextDecoder("windows-1252")
      return decoder.decode(rest)
    }
  }
  for await (const piece of bytes) {
    if (decoder !== undefined) {
      yield decoder.decode(piece, { stream: true })
      continue
    }
    rest = joined(rest, piece)
    if (!isStarted) {
      const [first, second] = rest
      if (first === undefined || second === undefined) continue
      isStarted = true
      const utf16 = encodings[first * 256 + second]
      if (utf16 !== undefined) {
        decoder = new TextDecoder(utf16)
        yield decoder.decode(rest, { stream: true })
        continue
      }
    }
    // A character of UTF-8 ends before each byte of ASCII.
    yield utf8(rest.findLastIndex((byte) => byte < 0x80) + 1)
  }
  yield decoder === undefined ? utf8(rest.length) : decoder.decode()
}

const joined = (one: Uint8Array, other: Uint8Array) => {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}

const encodings: Readonly<Record<number, string>> = { 0xfffe: "utf-16le", 0xfeff: "utf-16be" }

/** Reads the rows of a file. Throws UnreadableList when the user has to choose the column. */
export async function* rowsIn(
  bytes: AsyncIterable<Uint8Array>,
  options: {
    readonly column: string | undefined
    readonly onNote: (note: string) => void
    readonly onTable: (table: Table) => void
  },
) {
  const { column, onNote, onTable } = options
  const list = reader(column)
  let isWindows1252 = false
  const noted = (items: ReadonlyArray<Item>) => {
    if (isWindows1252) onNote("The list is not in UTF-8, so it is read as Windows-1252.")
    const table = list.table()
    if (table !== undefined) {
      onTable(table)
      const found = foundColumn(table)
      if (column === undefined) onNote(`The URLs are in the column ${found}.`)
    }
    return items
  }
  for await (const text of decoded(bytes, () => (isWindows1252 = true)))
    yield noted(list.push(text))
  yield noted(list.end())
}

const foundColumn = ({ candidates, column, columns, hasHeader }: Table): string => {
  const label = (index: number) => (hasHeader ? JSON.stringify(columns[index]) : String(index + 1))
  if (column !== undefined) return label(column)
  const choice = candidates.map(label).join(" or ")
  throw new UnreadableList(
    `has no column that is clearly the only one with URLs; choose a column with --column: ${choice}`,
  )
}

/** A delimiter for text that is not a CSV. `reader` refuses text that contains it. */
const none = "\0"

/**
 * Makes a function that splits text into rows, and keeps the start of an incomplete row. Calls
 * `onOpenQuote` with the number of lines before a quote that is not closed.
 */
const splitter = (
  delimiter: string,
  comments: string | false = "#",
  onOpenQuote: (linesBefore: number) => void = () => {},
) => {
  let rest = ""
  let linesBefore = 0
  return (piece: string, isLast: boolean): ReadonlyArray<ReadonlyArray<string>> => {
    rest += piece
    const rows: Array<ReadonlyArray<string>> = []
    let [start, end] = [0, 0]
    let openQuote: number | undefined
    const reportOpenQuote = () => {
      if (openQuote !== undefined) onOpenQuote(linesBefore + lineEndsIn(rest.slice(0, openQuote)))
    }
    Papa.parse<Array<string>>(rest, {
      delimiter,
      newline: "\n",
      comments,
      // Quotation marks have no meaning in a list of URLs.
      ...(delimiter === none && { fastMode: true }),
      step: ({ data, errors, meta }) => {
        reportOpenQuote()
        openQuote = errors.find((error) => isOpenQuote(error, data))?.index
        rows.push(data)
        start = end
        end = meta.cursor
      },
    })
    if (isLast) reportOpenQuote()
    else {
      void rows.pop()
      if (rest.length - start > maxRowLength) reportOpenQuote()
      linesBefore += lineEndsIn(rest.slice(0, start))
      rest = rest.slice(start)
      if (rest.length > maxRowLength) {
        throw new UnreadableList(
          "has a line of more than a million characters; give a list with one URL per line, or a CSV",
        )
      }
    }
    return rows.filter((row) => row.some(isFilled))
  }
}

const lineEndsIn = (text: string) => text.split("\n").length - 1

// A quote that is not closed ends at the next quote, if there is one. Then the lines between them
// are in one cell, and that quote is inside the cell.
const isOpenQuote = ({ code }: Papa.ParseError, row: ReadonlyArray<string>) =>
  code === "MissingQuotes" || row.some((cell) => cell.includes("\n") && cell.includes('"'))

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

const ofTable = ({ comments, rowsBefore, table }: Layout, firstLine: number) => {
  const { column, columns, delimiter } = table
  const split = splitter(delimiter, comments, (linesBefore) => {
    throw new UnreadableList(
      `has a quote in line ${firstLine + linesBefore} that is not closed; close it, and double each quote inside a quoted cell`,
    )
  })
  let skipped = rowsBefore
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

interface Layout {
  readonly table: Table
  readonly comments: string | false
  /** How many rows come before the first row with a URL, the header among them. */
  readonly rowsBefore: number
}

const layoutOf = (
  text: string,
  options: {
    readonly isWhole: boolean
    readonly asked: string | undefined
    readonly separator: string | undefined
  },
): Layout | undefined => {
  const { asked, separator } = options
  // A first column may have the name #.
  const comments = /^\s*#[\t,;|]/.test(text) ? false : "#"
  const split = (delimiter: string) => splitter(delimiter, comments)(text, options.isWhole)
  const { before, delimiter, rows } = (separator === undefined ? ["\t", ";", ","] : [separator])
    .map((delimiter) => ({ delimiter, ...tableIn(split(delimiter)) }))
    .reduce((best, other) => (other.fitting > best.fitting ? other : best))
  const [first, ...others] = rows
  if (first === undefined) return undefined
  const isNamed = asked !== undefined && !isNumber(asked)
  const hasUrls = others.some((row) => row.some(isUrl))
  const hasHeader = isNamed || (!first.some(isUrl) && (hasUrls || hasTitle(first)))
  const isClear = asked !== undefined || separator !== undefined
  if (!isClear && !isTable(rows, hasHeader && (hasUrls || first.length > 1), split(none)))
    return undefined
  const columns = first.map((cell, i) => (hasHeader && cell.trim()) || `column ${i + 1}`)
  const candidates = candidatesOf(columns, hasHeader ? others : rows)
  const [only, second] = candidates
  const found = second === undefined ? only : undefined
  const column = asked === undefined ? found : indexOf(asked, columns)
  return {
    table: { delimiter, hasHeader, columns, column, candidates },
    comments,
    rowsBefore: before + (hasHeader ? 1 : 0),
  }
}

// Finds the table behind the lines that some programs write before it: titles and dates, which fill
// at most half of the table's columns, or end before the header's last column. `fitting` counts the
// rows that are as wide as the table.
const tableIn = (all: ReadonlyArray<ReadonlyArray<string>>) => {
  const counts = new Map<number, number>()
  for (const { length } of all) counts.set(length, (counts.get(length) ?? 0) + 1)
  const [width = 0] = [...counts].toSorted(([, one], [, other]) => other - one)[0] ?? []
  const firstUrl = all.findIndex((row) => row.some(isUrl))
  const heads = all
    .slice(0, firstUrl < 0 ? all.length : firstUrl)
    .filter((row) => hasTitle(row) || row.filter(isFilled).length * 2 > width)
  const header = heads.reduce<ReadonlyArray<string> | undefined>((best, row) => {
    const isBetter = best === undefined || (!hasTitle(best) && lastFilled(row) > lastFilled(best))
    return isBetter ? row : best
  }, undefined)
  const rows = all.slice(Math.max(0, header === undefined ? firstUrl : all.indexOf(header)))
  const isWide = width > 1 && widthOf(rows) === width
  const fitting = isWide ? rows.filter(({ length }) => length === width).length : 0
  return { before: all.length - rows.length, rows, fitting }
}

const isFilled = (cell: string) => cell.trim() !== ""
const hasTitle = (row: ReadonlyArray<string>) => row.some((cell) => title.test(cell.trim()))
const lastFilled = (row: ReadonlyArray<string>) => row.findLastIndex(isFilled)

const widthOf = ([first]: ReadonlyArray<ReadonlyArray<string>>) => first?.length ?? 0

// True when half of the rows are as wide as the first one, and the rows have a header or one quoted
// column, or most lines are no URLs as they stand. A URL may contain a comma.
const isTable = (
  rows: ReadonlyArray<ReadonlyArray<string>>,
  hasHeader: boolean,
  lines: ReadonlyArray<ReadonlyArray<string>>,
) => {
  const width = widthOf(rows)
  const [head = ""] = lines[0] ?? []
  // Several quoted cells that were read as one still contain a quote. They are no header.
  const isQuoted = head.trimStart().startsWith('"') && !(rows[0]?.[0] ?? "").includes('"')
  const urls = lines.filter(([line = ""]) => urlsOf(line).every(isUrl))
  return (
    (width > 1 || isQuoted) &&
    rows.filter((row) => row.length === width).length * 2 >= rows.length &&
    (hasHeader ||
      (rows.some((row) => row.some(isUrl)) && (width === 1 || urls.length * 2 < lines.length)))
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
  const name = asked.trim().toLowerCase()
  const index = columns.findIndex((column) => column.toLowerCase() === name)
  if (isNumber(asked)) {
    if (Number(asked) <= columns.length) return Number(asked) - 1
    if (index >= 0) return index
    throw new UnreadableList(
      `has no column ${asked}, because its first row has ${counted(columns.length, "column")}`,
    )
  }
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

// Splits a line into its URLs, which may be quoted, at tabs, commas and semicolons. Does not split
// at a comma or semicolon that may be part of a URL, as in `example.com/a,b`.
const urlsOf = (line: string): ReadonlyArray<string> => {
  const split = (separator: RegExp) =>
    line
      .split(separator)
      .map((cell) => cell.trim().replace(/^"([^"]*)"$/, "$1"))
      .filter(isFilled)
  const narrow = split(/[\t,;]/)
  const isSafe =
    narrow.every((cell) => !/[/?#]/.test(cell)) || narrow.every((cell) => /^https?:/i.test(cell))
  if (isSafe && narrow.every(isUrl)) return narrow
  const wide = split(/\t|[,;](?:\s+|$)/)
  return wide.every(isUrl) ? wide : [line]
}
