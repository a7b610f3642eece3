/**
 * Tests `authority check --preview` and `--max-credits`, which tell and limit the price of a list.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { project } from "../support/BulkCheck.ts"
import { start } from "../support/TestServer.ts"
import { verb } from "../support/Verb.ts"

const service = Effect.gen(function* () {
  const server = yield* start({ price: 2 })
  return { ...(yield* project(server.url, server.key)), books: server.books }
})

/** 60 hosts, each listed twice, so that the duplicates are in different batches. */
const twice = Array.from({ length: 120 }, (_, i) => `site${i % 60}.example.com`)

describe("authority check --preview", () => {
  it.scopedLive(
    "authority check --preview prints the most that a list can cost, and names what cannot be checked",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, list } = yield* service
        list([...twice, "localhost", "x".repeat(1001)])
        const { code, stderr, stdout } = yield* verb(cwd, [...args, "--preview"])
        assert.strictEqual(code, 0, stderr)
        assert.strictEqual(
          stdout,
          [
            "122 addresses: 60 duplicates, 2 invalid, 60 to check, at most 120 credits; the account has 1,000.",
            "  duplicates            60  0 credits",
            "  invalid                2  0 credits",
            "  known to the service  60  120 credits",
            "",
          ].join("\n"),
        )
        assert.match(
          stderr,
          /^localhost: its host is not under a public domain ending\nx+: it is too/,
        )
        const json = yield* verb(cwd, [...args, "--preview", "--json"])
        assert.deepInclude(JSON.parse(json.stdout).preview, {
          total: 122,
          valid: 120,
          invalid: 2,
          duplicates: 60,
          known: 60,
          toBuy: 0,
          maxCredits: 120,
          availableCredits: 1000,
        })
        assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
      }),
  )
})

describe("authority check --max-credits", () => {
  it.scopedLive(
    "authority check --max-credits checks no list that may cost more than the limit",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, list } = yield* service
        list(twice)
        const refused = yield* verb(cwd, [...args, "--output", "a.csv", "--max-credits", "119"])
        assert.strictEqual(refused.code, 1)
        assert.include(
          refused.stderr,
          "the list may cost 120 credits, and --max-credits is 119; nothing was checked now",
        )
        assert.strictEqual((yield* books).charged, 0)
        const done = yield* verb(cwd, [...args, "--output", "a.csv", "--max-credits", "120"])
        assert.strictEqual(done.code, 0, done.stderr)
        assert.strictEqual((yield* books).charged, 120)
      }),
  )
})
