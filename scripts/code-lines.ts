/**
 * Counts the lines of code of a text and of each room (top-level folder) of `src`, and compares the
 * rooms with their ceilings.
 */
import { globSync, readFileSync } from "node:fs"
import { join, sep } from "node:path"

/** Counts the lines of a text by kind. A line with code and a comment is code. */
export const linesOf = (text: string) => {
  const counts = { code: 0, comments: 0 }
  let isInComment = false
  for (const line of text.split("\n").map((line) => line.trim())) {
    if (line === "") continue
    const isBlock = line.startsWith("/*") || line.startsWith("{/*")
    if (isInComment || isBlock || line.startsWith("//")) counts.comments++
    else counts.code++
    if (isInComment || isBlock) isInComment = !line.includes("*/")
  }
  return counts
}

export type Rooms = Readonly<Record<string, number>>

/** The lines of code of each folder of `src`. The files beside the folders are the room `src`. */
export const linesOfRooms = (src: string): Rooms => {
  const lines: Record<string, number> = {}
  for (const file of globSync("**/*.{ts,tsx}", { cwd: src }).toSorted()) {
    const [folder = "", ...rest] = file.split(sep)
    const room = rest.length === 0 ? "src" : folder
    lines[room] = (lines[room] ?? 0) + linesOf(readFileSync(join(src, file), "utf8")).code
  }
  return lines
}

/** Returns a line for each room that exceeds its ceiling or has none. */
export const roomsAbove = (lines: Rooms, ceilings: Rooms): ReadonlyArray<string> =>
  Object.entries(lines)
    .filter(([room, count]) => count > (ceilings[room] ?? 0))
    .map(([room, count]) => `${room}: ${count} lines of code, ceiling ${ceilings[room] ?? "none"}`)
