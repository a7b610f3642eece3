/** How the verbs speak: text for people, or one JSON document for programs. */
import { fstatSync, writeSync } from "node:fs"
import { stripVTControlCharacters } from "node:util"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { latestTime } from "../TimeSpan.ts"

/** The output cannot be written; `message` says why. */
export class OutputFailed extends Data.TaggedError("OutputFailed")<{
  readonly message: string
}> {}

/** Writes to stdout. Returns when the operating system has all of the text. */
export const write = (text: string): Effect.Effect<void, OutputFailed> =>
  Effect.suspend(() =>
    fstatSync(process.stdout.fd).isFile() ? writeToFile(text) : writeToStream(text),
  )

/** Node's own stream takes a part of the text for all of it when the disk has room for a part. */
const writeToFile = (text: string) =>
  Effect.try({
    try: () => {
      let left: Uint8Array = Buffer.from(text)
      while (left.length > 0) left = left.subarray(writeSync(process.stdout.fd, left))
    },
    catch: outputFailed("stdout"),
  })

const writeToStream = (text: string) =>
  Effect.tryPromise({
    try: () =>
      new Promise<void>((resolve, reject) => {
        process.stdout.write(text, (error) =>
          error === null || error === undefined ? resolve() : reject(error),
        )
      }),
    catch: outputFailed("stdout"),
  })

/** `name`: what could not be written. */
export const outputFailed =
  (name: string) =>
  (cause: unknown): OutputFailed =>
    new OutputFailed({
      message:
        Predicate.hasProperty(cause, "code") && cause.code === "EPIPE"
          ? "the output pipe was closed"
          : `${name} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
    })

/** Writes a line to stdout, without colours where it is not a terminal. */
export const line = (text: string) =>
  write(`${process.stdout.isTTY ? text : stripVTControlCharacters(text)}\n`)

/** Prints the result of a verb. */
export const print = (asJson: boolean, document: unknown, text: string) =>
  line(asJson ? JSON.stringify(document) : text)

/** For a verb that changed something: nobody shall repeat it because its result was not printed. */
export const although = (done: string) =>
  Effect.mapError(
    ({ message }: OutputFailed) => new OutputFailed({ message: `${message}, although ${done}` }),
  )

/** Columns as wide as their widest cell; numbers to the right. */
export const table = (
  headers: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string | number>>,
): string => {
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

/** RFC 4180; and what a spreadsheet would take for a formula is made text. */
export const csvCell = (value: string | number | null): string => {
  if (typeof value === "number") return String(value)
  const text = /^[=+\-@\t]/.test(value ?? "") ? `'${value}` : (value ?? "")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** ISO 8601, or null. A time beyond the last one is shown as that. */
export const time = (epochMs: number | null): string | null =>
  epochMs === null ? null : new Date(Math.min(epochMs, latestTime)).toISOString()

/** Whether only this machine can reach what listens there. */
export const isLoopback = (host: string) => /^(localhost|127\.[\d.]+|::1|\[::1\])$/.test(host)
