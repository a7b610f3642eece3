/**
 * Checks that the type of a method names all that it needs: no service is optional, and no state is
 * shared behind the types' back.
 */
import { globSync, readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"

// The library makes both optional: its own transaction, and the request that a handler may need.
const optionalServices = ["src/database/transaction.ts", "src/http/CurrentRequest.ts"]

const stateful = /\bnew |\[|\blet\b|\b(Ref|Cache|Queue|Semaphore)\b|unsafeMake/
const reference = /Context\.Reference<[^]*?defaultValue([^]*?)\) \{/g
const port = /Context\.Tag\([^]*?>\(\) \{/g

const sources = globSync("src/**/*.{ts,tsx}").sort()

/** Returns the files of `src` in which a match of `piece` contains a match of `wrong`. */
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
