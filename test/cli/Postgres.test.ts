/** Tests what the verbs print about a PostgreSQL server, and that they print no secrets. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { temporaryDatabase } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { verb } from "../support/Verb.ts"

const on = (url: string) => ({ AUTHORITY_DATABASE_URL: url })

describe("a connection string", () => {
  it.scopedLive(
    "the doctor shows user, host and database of a connection string, but no password",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const { host, pathname } = new URL(Redacted.value(yield* temporaryDatabase))
        const shown = `postgres://authority@${host}${pathname}`
        const wrong = "the server refuses the login|there is no database"
        for (const [url, setting, problem] of [
          [`${shown}?password=SECRET`, "postgres://…", "the parameter password is not supported"],
          [`postgres://authority:SECRET@${host}${pathname}`, shown, wrong],
          [`postgres://authority:x/SECRET@${host}/x`, "postgres://…", "percent-encode"],
          [`${shown}?sslmod=require`, "postgres://…", "the parameter sslmod is not supported"],
        ] as const) {
          const { code, stderr, stdout } = yield* verb(cwd, ["doctor"], on(url))
          const printed = stdout + stderr
          assert.strictEqual(code, 1)
          assert.include(stdout, `AUTHORITY_DATABASE_URL: ${setting} (environment)`)
          assert.match(stdout, new RegExp(`failure +database: .*(${problem})`))
          assert.notInclude(printed, "SECRET", url)
          assert.match(stderr, /^authority: these checks failed: [^\n]+\n$/, url)
        }
      }),
  )
})

describe("a PostgreSQL database without tables", () => {
  it.scopedLive("a PostgreSQL database without the program's tables counts as no database", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const url = Redacted.value(yield* temporaryDatabase)
      const { host, password, pathname } = new URL(url)
      const settings = { AUTHORITY_DATABASE_URL: url }
      // Neither verb may create the tables: otherwise the second one would find a database.
      for (const args of [["account", "list"], ["doctor"]]) {
        const { code, stderr, stdout } = yield* verb(cwd, args, settings)
        assert.strictEqual(code, 1)
        assert.include(stdout + stderr, `there is no database at postgres://${host}${pathname}`)
        assert.notInclude(stdout + stderr, `:${password}@`)
      }
      const created = yield* verb(cwd, ["account", "create", "acme"], settings)
      assert.deepStrictEqual(
        [created.code, created.stderr],
        [0, `authority: created the database postgres://${host}${pathname}\n`],
      )
      const { code, stdout } = yield* verb(cwd, ["account", "list"], settings)
      assert.strictEqual(code, 0)
      assert.include(stdout, "acme")
    }),
  )
})

describe("the doctor and a PostgreSQL server", () => {
  it.scopedLive("the doctor shows PostgreSQL's version and TLS, and warns if fsync is off", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const url = Redacted.value(yield* temporaryDatabase)
      yield* verb(cwd, ["account", "create", "acme"], on(url))
      const { host } = new URL(url)
      const { code, stderr, stdout } = yield* verb(cwd, ["doctor"], on(url))
      assert.strictEqual(code, 0, stdout)
      assert.match(stdout, new RegExp(`ok +server: PostgreSQL \\d+\\.\\d+ at ${host}, a primary`))
      assert.match(stdout, /ok +TLS: not in use\n/)
      assert.match(stdout, /warning +fsync: off, so a crash/)
      assert.notMatch(stdout, / version: /)
      assert.strictEqual(stderr, "")
    }),
  )
})
