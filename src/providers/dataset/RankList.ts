/**
 * Reads public ranking files as streams, in constant memory. A file in another format fails at its
 * first line. A broken line is reported and skipped. The formats are:
 *
 * - Common Crawl: tab-separated, with header; the rank (by harmonic centrality) is the first
 *   column, names are reversed (`com.example`)
 * - Majestic Million: comma-separated, with header; the global rank is the first column
 * - Tranco: comma-separated, without header; the rank is the first column
 * - Open PageRank: comma-separated, with header; the rank is the first column, and the name may be
 *   in two columns (`example` and `com`)
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Ranked } from "./Rankings.ts"

export const Format = Schema.Literal("common-crawl", "majestic", "open-page-rank", "tranco")
export type Format = typeof Format.Type

/**
 * The file is not in the expected format. `message` names the format and quotes the start of the
 * first line that does not match it.
 */
export class WrongFormat extends Data.TaggedError("WrongFormat")<{ readonly message: string }> {}

export interface Batch {
  readonly rows: ReadonlyArray<Ranked>
  /** Line numbers of the broken lines; the first line is 1. */
  readonly broken: ReadonlyArray<number>
}

/** Parses the file. The files are sorted, so the first `top` rows have the best ranks. */
export const read = <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  options: { readonly format: Format; readonly top: number },
): Stream.Stream<Batch, E | WrongFormat, R> => {
  const { cellsOf, first, name } = formats[options.format]

  const rowOf = (line: string): Option.Option<Ranked> => {
    const cells = cellsOf(line)
    const rank = Number(cells[0])
    const host = name(cells)
    return Number.isSafeInteger(rank) && rank > 0 && host !== undefined && isName.test(host)
      ? Option.some({ name: host, rank })
      : Option.none()
  }

  const start: State = { rest: "", lines: 0, rows: 0 }

  const step = (state: State, text: string) => {
    const lines = (state.rest + text).split("\n")
    const rest = lines.pop() ?? ""
    const rows: Array<Ranked> = []
    const broken: Array<number> = []
    for (const [i, line] of lines.entries()) {
      const number = state.lines + i + 1
      if (number === 1 && !first.test(line)) return wrong(options.format, line)
      if (state.rows + rows.length === options.top) break
      if (line === "" || line === "\r" || (number === 1 && isHeader.test(line))) continue
      const row = rowOf(line.endsWith("\r") ? line.slice(0, -1) : line)
      if (Option.isSome(row)) rows.push(row.value)
      else broken.push(number)
    }
    if (rest.length > maxLineLength) return wrong(options.format, rest)
    const next = { rest, lines: state.lines + lines.length, rows: state.rows + rows.length }
    return Effect.succeed([next, { rows, broken, isLast: next.rows === options.top }] as const)
  }

  return bytes.pipe(
    // In latin1 each byte is one character, so a chunk can end after any byte. All valid names are
    // ASCII, which latin1 decodes correctly.
    Stream.map((piece) => Buffer.from(piece.buffer, piece.byteOffset, piece.length)),
    Stream.map((piece) => piece.toString("latin1")),
    // End the last line, because some files have no newline at their end.
    Stream.concat(Stream.make("\n")),
    Stream.mapAccumEffect(start, step),
    Stream.takeUntil(({ isLast }) => isLast),
  )
}

interface State {
  /** The start of a line that continues in the next chunk. */
  readonly rest: string
  readonly lines: number
  readonly rows: number
}

// Maximum length of a line, in characters. A longer line means that the file has another format.
const maxLineLength = 100_000

const isName = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+$/

// `ï»¿` is a byte order mark, read as latin1.
const isHeader = /^(?:ï»¿)?"?(?:#|[A-Za-z])/

const unquoted = (cell: string) => cell.trim().replace(/^"(.*)"$/, "$1")

const lower = (name: string | undefined) => name?.toLowerCase()

// For each format: the pattern of the file's first line, a function that splits a line into cells,
// and a function that returns the host or domain name from these cells.
const formats = {
  "common-crawl": {
    first: /^#harmonicc_pos\s+#harmonicc_val\s+#pr_pos\s+#pr_val\s+#host_rev/,
    cellsOf: (line: string) => line.split("\t"),
    name: (cells: ReadonlyArray<string>) => lower(cells[4]?.split(".").reverse().join(".")),
  },
  majestic: {
    first: /^GlobalRank,TldRank,Domain,TLD,/,
    cellsOf: (line: string) => line.split(","),
    name: (cells: ReadonlyArray<string>) => lower(cells[2]),
  },
  "open-page-rank": {
    first: /^(?:ï»¿)?"?Rank"?, *"?Domain"?, *"?Extension"?,/,
    cellsOf: (line: string) => line.split(",").map(unquoted),
    name: ([, domain = "", extension = ""]: ReadonlyArray<string>) =>
      lower(domain.endsWith(`.${extension}`) ? domain : `${domain}.${extension}`),
  },
  tranco: {
    first: /^\d+,[^,]+\r?$/,
    cellsOf: (line: string) => line.split(","),
    name: (cells: ReadonlyArray<string>) => lower(cells[1]),
  },
} as const

const wrong = (format: Format, line: string) =>
  new WrongFormat({
    message: `the list is not in the format ${format}, because a line begins with ${JSON.stringify(line.slice(0, 60))}; set the format of the list with --format: ${Format.literals.join(", ")}`,
  })
