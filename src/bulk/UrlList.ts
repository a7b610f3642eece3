/**
 * Reads a list of URLs as a stream: one URL per line, or one column of a CSV. Accepts UTF-8, and
 * UTF-16 with a byte order mark, with any line endings. Skips blank lines and lines that begin with
 * `#`.
 */
import { pipeline, Readable } from "node:stream"
import { TextDecoder } from "node:util"
import { parse } from "csv-parse"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import { counted } from "../text/counted.ts"
import { Target } from "../Target.ts"

/**
 * The list cannot be read. `message` says why, but does not name the list. `UrlInput` puts the name
 * of the list before the message.
 */
export class UnreadableList extends Data.TaggedError("UnreadableList")<{
  readonly message: string
}> {}

export interface Options {
  /**
   * The CSV column with the URLs: its name in the first row, or its number, counted from 1. When
   * undefined, this module looks for the column.
   */
  readonly column: string | undefined
  /**
   * True when the file's extension is `.csv` or `.tsv`. Otherwise the list is a CSV when `column`
   * is set or when its first two lines look like a CSV.
   */
  readonly isCsv?: boolean
  /**
   * Called once, with the name or number of the CSV column in which the URLs were found. Not called
   * when `column` is set.
   */
  readonly onColumn?: (column: string) => void
  /** Number of URLs in one batch. The last batch can have fewer. */
  readonly batchSize: number
}

/** Yields the URLs in batches. Throws UnreadableList. */
export async function* batches(
  bytes: AsyncIterable<Uint8Array>,
  options: Options,
): AsyncGenerator<ReadonlyArray<string>> {
  const { batchSize, column, isCsv } = options
  const sniff = await sniffed(decoded(bytes))
  const isTable = column !== undefined || isCsv || beginsWithHeader(sniff)
  const urls = isTable ? cells(sniff, options) : lines(sniff.whole)
  let batch: Array<string> = []
  for await (const some of urls) {
    for (const url of some) {
      batch.push(url)
      if (batch.length < batchSize) continue
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}

/**
 * Decodes bytes to text. Uses UTF-16 when the bytes begin with a UTF-16 byte order mark, which some
 * Windows programs write. Otherwise uses UTF-8.
 */
async function* decoded(bytes: AsyncIterable<Uint8Array>) {
  let decoder: TextDecoder | undefined
  let start = new Uint8Array()
  for await (const piece of bytes) {
    if (decoder !== undefined) {
      yield decoder.decode(piece, { stream: true })
      continue
    }
    start = Buffer.concat([start, piece])
    if (start.length < 2) continue
    decoder = new TextDecoder(encodingOf(start))
    yield decoder.decode(start, { stream: true })
  }
  yield decoder?.decode() ?? new TextDecoder().decode(start)
}

const encodingOf = ([first, second]: Uint8Array) =>
  first === 0xff && second === 0xfe
    ? "utf-16le"
    : first === 0xfe && second === 0xff
      ? "utf-16be"
      : "utf-8"

const lineEnd = /[\r\n]+/

/** Splits text into lines. Joins a line that is spread over two chunks. */
async function* lines(text: AsyncIterable<string>) {
  let rest = ""
  for await (const piece of text) {
    const complete = (rest + piece).split(lineEnd)
    rest = complete.pop() ?? ""
    if (rest.length > maxLineLength) {
      throw new UnreadableList({
        message:
          "has a line of more than a million characters; give a list with one URL per line, or a CSV",
      })
    }
    yield complete.map((line) => line.trim()).filter(isUrl)
  }
  yield [rest.trim()].filter(isUrl)
}

const isUrl = (line: string) => line !== "" && !line.startsWith("#")

const maxLineLength = 1_000_000

async function* cells({ delimiter, whole }: Sniffed, { column, onColumn }: Options) {
  const parser = parse({
    delimiter,
    comment: "#",
    comment_no_infix: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: maxLineLength,
  })
  // The callback ignores errors, because the loop below throws them.
  pipeline(Readable.from(whole), parser, () => {})
  let index: number | undefined
  let sample: Array<ReadonlyArray<string>> = []
  const urls = (rows: ReadonlyArray<ReadonlyArray<string>>) =>
    rows.map((row) => row[index ?? 0]?.trim() ?? "").filter((url) => url !== "")
  const start = () => {
    const chosen = column === undefined ? found(sample) : named(column, sample[0] ?? [])
    index = chosen.index
    if (column === undefined) onColumn?.(chosen.label)
    return urls(chosen.hasHeader ? sample.slice(1) : sample)
  }
  for await (const record of parser) {
    const row: ReadonlyArray<string> = record
    if (index !== undefined) {
      yield urls([row])
      continue
    }
    sample.push(row)
    if (column !== undefined || sample.length === sampleRows) yield start()
  }
  if (index === undefined && sample.length > 0) yield start()
}

/** How many rows at the start of a CSV are examined to find the column of URLs. */
const sampleRows = 100

interface Column {
  readonly index: number
  readonly label: string
  readonly hasHeader: boolean
}

const named = (column: string, first: ReadonlyArray<string>): Column => ({
  index: indexOf(column, first),
  label: column,
  hasHeader: !isNumber(column),
})

/**
 * Finds the column in which at least half of the non-empty cells are URLs. Throws UnreadableList
 * when no column or more than one column matches.
 */
const found = (sample: ReadonlyArray<ReadonlyArray<string>>): Column => {
  const [first = []] = sample
  const hasHeader = !first.some(looksLikeUrl)
  const rows = hasHeader ? sample.slice(1) : sample
  const columns = first.map((name, index): Column => {
    const label = hasHeader && name.trim() !== "" ? JSON.stringify(name.trim()) : `${index + 1}`
    return { index, label, hasHeader }
  })
  const candidates = columns.filter(({ index }) => {
    const cells = rows.map((row) => row[index]?.trim() ?? "").filter((cell) => cell !== "")
    return cells.length > 0 && cells.filter(looksLikeUrl).length * 2 >= cells.length
  })
  const [only, second] = candidates
  if (only !== undefined && second === undefined) return only
  const [problem, choice] =
    only === undefined
      ? ["has no column with URLs", columns]
      : ["has more than one column with URLs", candidates]
  throw new UnreadableList({
    message: `${problem}; choose a column with --column: ${choice.map(({ label }) => label).join(" or ")}`,
  })
}

const looksLikeUrl = (cell: string) => Either.isRight(Target.parse(cell.trim()))

/** True when the first line has two names or more and no URL, and the second line has a URL. */
const beginsWithHeader = ({ delimiter, first, second }: Sniffed) => {
  const names = first.split(delimiter)
  return (
    names.length > 1 &&
    !first.includes("//") &&
    !names.some(looksLikeUrl) &&
    second.split(delimiter).some(looksLikeUrl)
  )
}

const isNumber = (column: string) => /^[1-9]\d{0,3}$/.test(column)

const indexOf = (column: string, first: ReadonlyArray<string>): number => {
  if (isNumber(column)) {
    if (Number(column) <= first.length) return Number(column) - 1
    throw new UnreadableList({
      message: `has no column ${column}, because its first row has ${counted(first.length, "column")}`,
    })
  }
  const names = first.map((name) => name.trim())
  const index = names.findIndex((name) => name.toLowerCase() === column.trim().toLowerCase())
  if (index >= 0) return index
  throw new UnreadableList({
    message: `has no column ${JSON.stringify(column)}; its columns are ${names.map((name) => JSON.stringify(name)).join(", ")}`,
  })
}

interface Sniffed {
  readonly delimiter: string
  /** The first line that is neither blank nor a comment; empty when there is none. */
  readonly first: string
  /** The second line that is neither blank nor a comment; empty when there is none. */
  readonly second: string
  readonly whole: AsyncIterable<string>
}

/** Detects the delimiter from the first row. Spreadsheets in many countries use `;`. */
const sniffed = async (text: AsyncIterable<string>): Promise<Sniffed> => {
  const pieces = text[Symbol.asyncIterator]()
  let head = ""
  let first: string | undefined
  let second: string | undefined
  for (;;) {
    const { done, value } = await pieces.next()
    head += value ?? ""
    const complete = head.split(lineEnd)
    if (!done) complete.pop()
    ;[first, second] = complete.filter((line) => isUrl(line.trim()))
    if (done || second !== undefined || head.length > maxLineLength) break
  }
  const unquoted = (first ?? head).replaceAll(/"[^"]*"/g, "")
  const [delimiter = ","] = [",", ";", "\t"].toSorted(
    (a, b) => unquoted.split(b).length - unquoted.split(a).length,
  )
  async function* whole() {
    yield head
    yield* { [Symbol.asyncIterator]: () => pieces }
  }
  return { delimiter, first: first ?? "", second: second ?? "", whole: whole() }
}
