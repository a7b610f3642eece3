/**
 * Fails if a room (a top-level folder of `src`) has more lines of code than its ceiling in
 * `room-lines.json`. With `--lower`, first lowers each ceiling to the room's current lines.
 *
 *     node scripts/check-rooms.ts
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { linesOfRooms, type Rooms, roomsAbove } from "./code-lines.ts"
import file from "./room-lines.json" with { type: "json" }

const lines = linesOfRooms(join(import.meta.dirname, "../src"))
let ceilings: Rooms = file

if (process.argv.includes("--lower")) {
  const lowered = Object.entries(ceilings)
    .filter(([room]) => room in lines)
    .map(([room, ceiling]) => [room, Math.min(ceiling, lines[room] ?? 0)])
  ceilings = Object.fromEntries(lowered)
  const text = `${JSON.stringify(ceilings, undefined, 2)}\n`
  writeFileSync(join(import.meta.dirname, "room-lines.json"), text)
}

const above = roomsAbove(lines, ceilings)
if (above.length > 0) {
  console.error(above.join("\n"))
  console.error(
    "Take something away first, or raise the number in scripts/room-lines.json in a commit of its own.",
  )
  process.exitCode = 1
}
