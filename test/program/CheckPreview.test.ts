/** `authority check --preview` and `--max-credits`: what a list costs, before it is paid. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as memory from "../support/memory.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { project } from "../support/BulkCheck.ts"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { start } from "../support/TestServer.ts"
import { verb } from "../support/Verb.ts"

const cached = (vendor: ReturnType<typeof make>["vendor"]) =>
  Composed.decorated(vendor, {
    timeout: "1 second",
    concurrency: 1,
    cache: { ttl: Duration.hours(1), capacity: 100 },
  }).pipe(Layer.provide([memory.metricsCache, memory.costs]))

const service = Effect.gen(function* () {
  const server = yield* start({ price: 2 })
  return { ...(yield* project(server.url, server.key)), books: server.books }
})

/** 60 different hosts, each of them twice, so that duplicates lie in different batches. */
const twice = Array.from({ length: 120 }, (_, i) => `site${i % 60}.example.com`)

describe("authority check --preview", () => {
  it.scopedLive("prints what the list costs at most, and names what cannot be checked", () =>
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

  it.scopedLive("counts figures above --max-age as bought, and buys them anew", () =>
    Effect.gen(function* () {
      const { calls, vendor } = make(succeeding)
      const server = yield* start({ provider: cached(vendor) })
      const { args, cwd, list } = yield* project(server.url, server.key)
      list(["example.com"])
      yield* server.check(["example.com"])
      const preview = (...more: ReadonlyArray<string>) =>
        Effect.map(verb(cwd, [...args, "--preview", "--json", ...more]), ({ stdout }) => {
          const { known, toBuy } = JSON.parse(stdout).preview
          return { known, toBuy }
        })
      assert.deepStrictEqual(yield* preview("--max-age", "1h"), { known: 1, toBuy: 0 })
      assert.deepStrictEqual(yield* preview("--max-age", "0s"), { known: 0, toBuy: 1 })
      const { code, stderr } = yield* verb(cwd, [...args, "--max-age", "0s"])
      assert.strictEqual(code, 0, stderr)
      assert.deepStrictEqual(calls, [["example.com/"], ["example.com/"]])
      const { stdout } = yield* verb(cwd, [...args, "--preview", "--json"])
      assert.match(JSON.parse(stdout).preview.oldest, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    }),
  )

  it.scopedLive("takes the key and the address of the service from the environment", () =>
    Effect.gen(function* () {
      const { cwd, list, args } = yield* service
      list(["example.com"])
      const [, , , key = "", , url = ""] = args
      const settings = { AUTHORITY_API_KEY: key, AUTHORITY_URL: url }
      const { code, stderr } = yield* verb(cwd, ["check", "list.txt", "--preview"], settings)
      assert.strictEqual(code, 0, stderr)
    }),
  )

  it.scopedLive("fails with the advice of a check when the key is wrong", () =>
    Effect.gen(function* () {
      const { cwd, list, args } = yield* service
      list(["example.com"])
      const wrong = args.with(3, `am_${"1".repeat(43)}`)
      const { code, stderr } = yield* verb(cwd, [...wrong, "--preview"])
      assert.strictEqual(code, 1)
      assert.match(stderr, /the service rejects the key/)
    }),
  )
})

describe("authority check --max-credits", () => {
  it.scopedLive("a list that may cost more is not checked, and one at the limit is", () =>
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
