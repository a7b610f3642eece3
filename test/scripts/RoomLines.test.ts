import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { linesOfRooms, roomsAbove } from "../../scripts/code-lines.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"

it.scoped("a room has the lines of code of its folder, without comments and blank lines", () =>
  Effect.gen(function* () {
    const src = yield* temporaryFolder
    mkdirSync(join(src, "ledger/rules"), { recursive: true })
    writeFileSync(join(src, "main.ts"), "/** The program. */\nstart()\n\n// Never.\nstop()\n")
    writeFileSync(join(src, "ledger/Hold.ts"), "open()\n")
    writeFileSync(join(src, "ledger/rules/Books.tsx"), "close() // at last\n")
    writeFileSync(join(src, "ledger/notes.md"), "no code\n")
    assert.deepStrictEqual(linesOfRooms(src), { src: 2, ledger: 2 })
  }),
)

it("a room above its ceiling, or without one, is named with its lines", () => {
  assert.deepStrictEqual(roomsAbove({ src: 2, ledger: 3, http: 4 }, { src: 2, ledger: 2 }), [
    "ledger: 3 lines of code, ceiling 2",
    "http: 4 lines of code, ceiling none",
  ])
})
