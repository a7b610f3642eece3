/** How the verbs speak: text for people, or one JSON document for programs. */
import * as Console from "effect/Console"
import { latestTime } from "../TimeSpan.ts"

export const print = (asJson: boolean, document: unknown, text: string) =>
  Console.log(asJson ? JSON.stringify(document) : text)

/** Columns as wide as their widest cell; numbers to the right. */
export const table = (
  headers: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string | number>>,
): string => {
  const widths = headers.map((header, i) =>
    Math.max(header.length, ...rows.map((row) => String(row[i] ?? "").length)),
  )
  const line = (cells: ReadonlyArray<string | number>) =>
    cells
      .map((cell, i) =>
        typeof cell === "number"
          ? String(cell).padStart(widths[i] ?? 0)
          : cell.padEnd(widths[i] ?? 0),
      )
      .join("  ")
      .trimEnd()
  return [line(headers), ...rows.map(line)].join("\n")
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
