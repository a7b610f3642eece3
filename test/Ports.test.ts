/** What a method needs is in its type: no service is optional, and no state is shared unseen. */
import { globSync, readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"

// The library has both as optional: its own transaction, and what a handler may need of its request.
const optionalServices = ["src/database/transaction.ts", "src/http/CurrentRequest.ts"]

const stateful = /\bnew |\[|\blet\b|\b(Ref|Cache|Queue|Semaphore)\b|unsafeMake/
const reference = /Context\.Reference<[^]*?defaultValue([^]*?)\) \{/g
const port = /Context\.Tag\([^]*?>\(\) \{/g

const sources = globSync("src/**/*.{ts,tsx}").sort()

/** The files of `src` with a piece of code that has what is looked for. */
const filesWith = (piece: RegExp, wrong: RegExp) =>
  sources.filter((file) =>
    [...readFileSync(file, "utf8").matchAll(piece)].some(([all, part = all]) => wrong.test(part)),
  )

it("only the named files ask for a service that may be absent, and each of them still does", () => {
  assert.deepStrictEqual(filesWith(/^.*$/gm, /serviceOption/), optionalServices)
})

it("no context reference has a default that its users share and change", () => {
  assert.isNotEmpty(filesWith(reference, /./))
  assert.deepStrictEqual(filesWith(reference, stateful), [])
})

it("no port has a method that may be absent", () => {
  assert.isNotEmpty(filesWith(port, /./))
  assert.deepStrictEqual(filesWith(port, /^ {4}readonly \w+\?:/m), [])
})
