/** Prints the results of verbs: text for people, or one JSON document for programs. */
import { fstatSync, writeSync } from "node:fs"
import * as Effect from "effect/Effect"
import { OutputFailed } from "../bulk/OutputFailed.ts"
import { printable } from "../text/printable.ts"

/** Writes to stdout. Returns when the operating system has accepted the whole text. */
export const write = (text: string): Effect.Effect<void, OutputFailed> =>
  Effect.suspend(() =>
    fstatSync(process.stdout.fd).isFile() ? writeToFile(text) : writeToStream(text),
  )

// Writes until the whole text is written. Node's stream would report success although a full disk
// has taken only a part of the text.
const writeToFile = (text: string) =>
  Effect.try({
    try: () => {
      let left: Uint8Array = Buffer.from(text)
      while (left.length > 0) left = left.subarray(writeSync(process.stdout.fd, left))
    },
    catch: OutputFailed.of("stdout"),
  })

const writeToStream = (text: string) =>
  Effect.tryPromise({
    try: () =>
      new Promise<void>((resolve, reject) => {
        process.stdout.write(text, (error) =>
          error === null || error === undefined ? resolve() : reject(error),
        )
      }),
    catch: OutputFailed.of("stdout"),
  })

export const line = (text: string) => write(`${text}\n`)

export const print = (asJson: boolean, document: unknown, text: string) =>
  line(asJson ? JSON.stringify(document) : text)

/**
 * Adds to an OutputFailed that the change was made, for example "although the account is created".
 * Otherwise the user might run the command a second time.
 */
export const although = (done: string) =>
  Effect.mapError(
    ({ message }: OutputFailed) => new OutputFailed({ message: `${message}, although ${done}` }),
  )

/**
 * Formats a table. Columns fit their widest cell, and numbers are right-aligned. Control characters
 * in cells are escaped.
 */
export const table = (
  headers: ReadonlyArray<string>,
  cells: ReadonlyArray<ReadonlyArray<string | number>>,
): string => {
  const rows = cells.map((row) =>
    row.map((cell) => (typeof cell === "string" ? printable(cell) : cell)),
  )
  const widths = headers.map((header, i) =>
    rows.reduce((width, row) => Math.max(width, String(row[i] ?? "").length), header.length),
  )
  const lineOf = (cells: ReadonlyArray<string | number>) =>
    cells
      .map((cell, i) =>
        typeof cell === "number"
          ? String(cell).padStart(widths[i] ?? 0)
          : cell.padEnd(widths[i] ?? 0),
      )
      .join("  ")
      .trimEnd()
  return [headers, ...rows].map(lineOf).join("\n")
}
