/** Prints the results of commands: text for people, or one JSON document for programs. */
import { fstatSync, writeFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import { OutputFailed } from "../lists/OutcomeFile.ts"
import * as Csv from "../lists/outcomeTable.ts"
import { printable } from "../check/printable.ts"

/** Writes to stdout. Returns when the operating system has accepted the whole text. */
export const write = (text: string): Effect.Effect<void, OutputFailed> =>
  Effect.suspend(() =>
    fstatSync(process.stdout.fd).isFile() ? writeToFile(text) : writeToStream(text),
  )

// Node's stream would report success even when a full disk has taken only part of the text.
const writeToFile = (text: string) =>
  Effect.try({
    try: () => writeFileSync(process.stdout.fd, text),
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

/**
 * Prints a document as JSON, or as its text. If that fails, `ifLost` is added to the error, for
 * example ", although the account is created", so that the user does not run the command again.
 */
export const print = (json: boolean, document: object, text: string, ifLost = "") =>
  Effect.mapError(
    line(json ? JSON.stringify(document) : text),
    ({ message }) => new OutputFailed({ message: message + ifLost }),
  )

type Cell = string | number | null

/**
 * A column of a list: its title in a table, its name in CSV, and its cell in a row. A column
 * without a title appears only in CSV, and one without a name only in the table.
 */
export type Column<Row> = readonly [
  title: string | null,
  name: string | null,
  cell: (row: Row) => Cell,
]

/**
 * Formats a table. Columns fit their widest cell, and numbers are right-aligned. Control characters
 * in cells are escaped.
 */
export const table = <Row>(columns: ReadonlyArray<Column<Row>>, rows: ReadonlyArray<Row>) => {
  const titled = columns.filter(([title]) => title !== null)
  const titles = titled.map(([title]) => title ?? "")
  const lines = rows.map((row) => titled.map(([, , cell]) => shown(cell(row))))
  const widths = titles.map((title, i) =>
    lines.reduce((width, cells) => Math.max(width, String(cells[i]).length), title.length),
  )
  return [titles, ...lines].map((cells) => lineOf(cells, widths)).join("\n")
}

/** Formats a row of a table whose columns are as wide as their titles. */
export const row = <Row>(columns: ReadonlyArray<Column<Row>>, row: Row) =>
  table(columns, [row]).split("\n").slice(1).join()

const shown = (cell: Cell) => (typeof cell === "number" ? cell : printable(cell ?? ""))

const lineOf = (cells: ReadonlyArray<string | number>, widths: ReadonlyArray<number>) =>
  cells
    .map((cell, i) =>
      typeof cell === "number"
        ? String(cell).padStart(widths[i] ?? 0)
        : cell.padEnd(widths[i] ?? 0),
    )
    .join("  ")
    .trimEnd()

/** Writes the rows as CSV, with or without a header line. */
export const csv = <Row>(
  columns: ReadonlyArray<Column<Row>>,
  rows: ReadonlyArray<Row>,
  hasNames = true,
) => {
  const named = columns.filter(([, name]) => name !== null)
  const cells = rows.map((row) => named.map(([, , cell]) => cell(row)))
  return Csv.csv(hasNames ? [named.map(([, name]) => name), ...cells] : cells)
}
