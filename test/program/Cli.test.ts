/** Tests the verbs as separate processes: their output, exit codes and start from the sources. */
import { readdirSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { folder, run, source } from "../support/Program.ts"

describe("the CLI verbs as processes", () => {
  it.scopedLive("CLI verbs that do not use the database work without a database", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      assert.strictEqual((yield* run(cwd, ["openapi"])).code, 0)
      const check = ["check", "--key", "am_none", "--url", "http://127.0.0.1:1"]
      const { code, stderr } = yield* run(cwd, check)
      assert.strictEqual(code, 1)
      assert.match(stderr, /No connection to the service/)
      assert.deepStrictEqual(readdirSync(cwd), [])
    }),
  )
})

describe("the sources of the program", () => {
  it.scopedLive("the program runs from its TypeScript sources without a build", () =>
    Effect.gen(function* () {
      const args = ["account", "create", "acme", "--json"]
      const { code, stdout } = yield* run(yield* folder, args, {}, source)
      assert.strictEqual(code, 0)
      assert.strictEqual(JSON.parse(stdout).account.name, "acme")
    }),
  )
})

describe("wrong usage of a CLI verb", () => {
  it.scopedLive("serve with an invalid setting prints one line on stderr and exits with 1", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* run(yield* folder, ["serve"], {
        AUTHORITY_PORT: "eighty",
      })
      assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
      assert.strictEqual(
        stderr,
        "authority: AUTHORITY_PORT: expected a whole number from 0 to 65535\n",
      )
    }),
  )
})
