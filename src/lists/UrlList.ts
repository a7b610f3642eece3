/**
 * Reads a list of URLs, in browsers too: the URLs of each line, or of one column of a CSV. Skips
 * blank lines, lines that begin with `#`, and remarks after ` #`.
 */
import Papa from "papaparse"
import { counted } from "../contract/counted.ts"
import { trimmed } from "../check/printable.ts"

/** The list cannot be read. `message` says why, but does not name the list. */
export class UnreadableList extends Error {}

export interface Item {
  /** A word of the list without white space, which may or may not be a valid URL. */
  readonly url: string
  /** The other cells of the row; empty when the list is not a CSV. */
  readonly others: ReadonlyArray<string>
}

/** The layout of a CSV, as its first rows show it. */
export interface Table {
  readonly delimiter: string
  readonly hasHeader: boolean
  /** The name of each column: its cell in the header, or `column 1` and so on. */
  readonly columns: ReadonlyArray<string>
  /** The index of the column with the URLs; undefined when the user has to choose one. */
  readonly column: number | undefined
  /** The indexes of the columns from which the user can choose. */
  readonly candidates: ReadonlyArray<number>
}

export interface UrlList {
  readonly items: ReadonlyArray<Item>
  /** The layout of the list; undefined when it is not a CSV. */
  readonly table: Table | undefined
  /**
   * URLs whose host has letters outside ASCII, which a wrongly guessed encoding may have changed.
   */
  readonly guessed: ReadonlyArray<string>
}

export interface Text {
  readonly text: string
  /** True if the bytes were in no known encoding and were read as Windows-1252. */
  readonly isGuessed: boolean
}

/** Decodes a file. UTF-16 needs a byte order mark, which programs that write UTF-16 add. */
export const decoded = (bytes: Uint8Array): Text => {
  const [first = 0, second = 0] = bytes
  const utf16 = encodings[first * 256 + second]
  if (utf16 !== undefined) return { text: new TextDecoder(utf16).decode(bytes), isGuessed: false }
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), isGuessed: false }
  } catch {
    return { text: new TextDecoder("windows-1252").decode(bytes), isGuessed: true }
  }
}

const encodings: Readonly<Record<number, string>> = { 0xfffe: "utf-16le", 0xfeff: "utf-16be" }

/**
 * Reads a list. `asked` is the column of a CSV that has the URLs: its name, or its number from 1.
 * Throws UnreadableList.
 */
export const read = ({ isGuessed, text }: Text, asked?: string): UrlList => {
  const refusal = refusals.find(([mark]) => mark.test(text))
  if (refusal !== undefined) throw new UnreadableList(refusal[1])
  const lines = text.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n")
  const [first = "", separator] = /^"?sep=(.)"?(?:\n|$)/i.exec(lines) ?? []
  const body = lines.slice(first.length)
  const layout = layoutOf(body.slice(0, sampledLength), asked, separator)
  const items =
    layout === undefined ? itemsOfLines(body) : itemsOfTable(body, layout, first === "" ? 1 : 2)
  const guessed = isGuessed
    ? items.map(({ url }) => url).filter((url) => foreignHost.test(url))
    : []
  return { items, table: layout?.table, guessed }
}

const refusals: ReadonlyArray<readonly [mark: RegExp, problem: string]> = [
  [
    // The first bytes of a zip archive, which an .xlsx file is, and of an .xls file.
    /^(?:PK\p{Cc}{2}|ÐÏ\p{Cc}à)/u,
    "is a workbook or an archive; save the sheet with the URLs as CSV",
  ],
  [/\0/, "is not a text file; save a spreadsheet as CSV"],
  [/^\s*\{\\rtf/, "is rich text (RTF); save it as plain text"],
  [/^\s*</, "is HTML or XML; give a list with one URL per line, or a CSV"],
  [/^\s*[[{]/, "is JSON; give a list with one URL per line, or a CSV"],
]

const foreignHost = /^(?:https?:)?[\\/]*[^\\/?#]*[^\0-\x7F]/i

/** How much text and how many rows at the start of a list decide whether it is a CSV. */
const sampledLength = 1_000_000
const sampledRows = 100

const linesOf = (text: string) =>
  text
    .split("\n")
    .map(trimmed)
    .filter((line) => line !== "" && !line.startsWith("#"))

const itemsOfLines = (text: string) =>
  linesOf(text)
    .filter((line, i) => i > 0 || !title.test(line))
    .flatMap(urlsOf)
    .map((url): Item => ({ url, others: [] }))

const itemsOfTable = (text: string, { comments, rowsBefore, table }: Layout, firstLine: number) => {
  const { column, columns, delimiter } = table
  const { openQuote, rows } = parsed(text, { delimiter, comments })
  if (openQuote !== undefined) {
    const line = firstLine + text.slice(0, openQuote).split("\n").length - 1
    throw new UnreadableList(
      `has a quote in line ${line} that is not closed; close it, and double each quote inside a quoted cell`,
    )
  }
  if (column === undefined) return []
  return rows.slice(rowsBefore).flatMap((row) => {
    const others = columns.flatMap((_, i) => (i === column ? [] : [row[i] ?? ""]))
    return urlsOf(row[column] ?? "").map((url): Item => ({ url, others }))
  })
}

/** Splits a CSV into its non-blank rows. `openQuote` is the index of a quote that is not closed. */
const parsed = (
  text: string,
  options: Pick<Table, "delimiter"> & Pick<Layout, "comments"> & { readonly preview?: number },
) => {
  const { data, errors } = Papa.parse<Array<string>>(text, { ...options, newline: "\n" })
  // An unclosed quote ends at the next quote, if there is one. Then a single cell contains the
  // lines between them and that next quote.
  const open = errors.find(
    ({ code, row = 0 }) =>
      code === "MissingQuotes" ||
      data[row]?.some((cell) => cell.includes("\n") && cell.includes('"')),
  )
  return { rows: data.filter((row) => row.some(isFilled)), openQuote: open?.index }
}

interface Layout {
  readonly table: Table
  readonly comments: string | false
  /** How many rows precede the first row with a URL, including the header. */
  readonly rowsBefore: number
}

const layoutOf = (
  text: string,
  asked: string | undefined,
  separator: string | undefined,
): Layout | undefined => {
  // The name of the first column may be #.
  const comments = /^\s*#[\t,;|]/.test(text) ? false : "#"
  const { before, delimiter, rows } = (separator === undefined ? delimiters : [separator])
    .map((delimiter) => ({
      delimiter,
      ...tableIn(parsed(text, { delimiter, comments, preview: sampledRows }).rows),
    }))
    .reduce((best, other) => (other.fitting > best.fitting ? other : best))
  const [first, ...others] = rows
  if (first === undefined) return undefined
  const isNamed = asked !== undefined && !isNumber(asked)
  const hasUrls = others.some((row) => row.some(isUrl))
  const hasHeader = isNamed || (!first.some(isUrl) && (hasUrls || hasTitle(first)))
  const isClear = asked !== undefined || separator !== undefined
  if (!isClear && !isTable(rows, hasHeader && (hasUrls || first.length > 1), text)) return undefined
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

const delimiters = ["\t", ";", ",", "|"]

// Finds the table after the lines that some programs write before it. Such titles and dates fill at
// most half of the table's columns, or end before the header's last column. `fitting` counts the
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

// True when half of the rows are as wide as the first one, and either they have a header or a
// single quoted column, or most lines are not URLs as a whole. A URL may contain a comma.
const isTable = (rows: ReadonlyArray<ReadonlyArray<string>>, hasHeader: boolean, text: string) => {
  const width = widthOf(rows)
  const lines = linesOf(text).slice(0, sampledRows)
  // Several quoted cells that were read as one still contain a quote, and are no header.
  const isQuoted = lines[0]?.startsWith('"') === true && !/["\n]/.test(rows[0]?.[0] ?? "")
  return (
    (width > 1 || isQuoted) &&
    rows.filter((row) => row.length === width).length * 2 >= rows.length &&
    (hasHeader ||
      (rows.some((row) => row.some(isUrl)) &&
        (width === 1 || lines.filter(isUrl).length * 2 < lines.length)))
  )
}

// Returns the columns in which at least half of the cells are URLs. If there are several, prefers
// the only one with a usual name. If there are none, returns all columns.
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
  /^(((source|site|referring page) ?)?urls?|domains?|(web ?)?sites?|(web ?)?pages?|(web ?)?address(es)?|links?|hosts?|host ?names?|targets?)$/i

/** True for a word that looks like a URL of a public host, unlike 2.35. */
const looksLikeUrl = (word: string) =>
  /^(https?:)?(\/\/)?([\p{L}\p{M}\p{N}_-]+\.)+\p{L}[\p{L}\p{M}\p{N}-]+\.?(:\d+)?([/?#].*)?$/iu.test(
    word,
  )

const isUrl = (text: string) => {
  const urls = urlsOf(text)
  return urls.length > 0 && urls.every(looksLikeUrl)
}

// Splits text into words, which may be URLs, at white space and at characters that no URL contains.
// Does not repair words.
const urlsOf = (text: string): ReadonlyArray<string> =>
  trimmed(text)
    .replace(/\p{White_Space}#.*$/su, "")
    .split(/[\p{White_Space}|<>"，]+/u)
    .flatMap(partsOf)
    .map((word) => trimmed(word).replace(/^(?:sc-)?domain:/i, ""))
    .filter((word) => word !== "")

// Splits a word at commas and semicolons, except where they may belong to a URL, as in
// `example.com/a,b`.
const partsOf = (word: string) => {
  const [whole = ""] = /[^,;](?:.*[^,;])?/s.exec(word) ?? []
  const parts = whole.split(/[,;]+/)
  const isSafe =
    parts.every((part) => !/[/?#]/.test(part)) || parts.every((part) => /^https?:/i.test(part))
  return isSafe && parts.every(looksLikeUrl) ? parts : [whole]
}
