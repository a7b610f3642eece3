/** `authority doctor`, with fake providers on real ports. */
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { document, verb } from "../support/Verb.ts"

describe("the verb doctor", () => {
  it.scopedLive("the doctor reports a missing database as a failure and does not create it", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const { code, stdout } = yield* verb(cwd, ["doctor"])
      assert.strictEqual(code, 1)
      assert.include(
        stdout,
        `failure  database: there is no database at ${join(cwd, "authority.db")}`,
      )
      assert.match(stdout, /warning +provider sandbox: /)
      assert.deepStrictEqual(readdirSync(cwd), [])
    }),
  )

  it.scopedLive("the doctor fails when the file of the admin token cannot be read", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme")
      const settings = { AUTHORITY_ADMIN_TOKEN_FILE: join(cwd, "nowhere") }
      const { code, stdout } = yield* verb(cwd, ["doctor"], settings)
      assert.strictEqual(code, 1)
      assert.match(stdout, /^failure +settings: AUTHORITY_ADMIN_TOKEN_FILE: .+ cannot be read/)
    }),
  )

  it.scopedLive(
    "the doctor prints every setting and Moz's remaining quota, and hides the token",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        yield* document(cwd, "account", "create", "acme")
        const moz = yield* FakeMoz.make
        const { code, stdout } = yield* verb(cwd, ["doctor"], {
          ...FakeMoz.settings(moz.url),
          AUTHORITY_PROT: "80",
        })
        assert.strictEqual(code, 0, stdout)
        assert.match(
          stdout,
          /warning +AUTHORITY_PROT: unknown, and has no effect; did you mean AUTHORITY_PORT\?/,
        )
        assert.match(stdout, /AUTHORITY_MOZ_TOKEN: hidden \(environment\)/)
        assert.match(stdout, /AUTHORITY_PORT: 8080 \(default\)/)
        assert.match(stdout, /ok +database: SQLite, schema \d+/)
        assert.match(stdout, /ok +ledger: 1 account and 0 entries verified/)
        assert.match(
          stdout,
          /ok +provider moz: reachable, key accepted; 3000 of 3000 rows are left until 20.+; index tD4g/,
        )
        assert.notInclude(stdout, FakeMoz.token)
      }),
  )

  it.scopedLive(
    "the doctor hides tokens in addresses and escapes control characters from the provider",
    () =>
      Effect.gen(function* () {
        const moz = yield* FakeMoz.make
        const message = `no\u001b[31m such \u202ekey: ${encodeURIComponent(FakeMoz.token)} or SECRET`
        moz.always(FakeVendor.answer(403, JSON.stringify({ message })))
        const { stdout } = yield* verb(yield* temporaryFolder, ["doctor"], {
          ...FakeMoz.settings(`${moz.url}?key=SECRET`),
          AUTHORITY_DATAFORSEO_URL: "https://SECRET@host/v3",
          AUTHORITY_MOZ_TOKEN: FakeMoz.token,
        })
        assert.match(stdout, /AUTHORITY_MOZ_URL: http:\/\/127.+\?key=… \(environment\)/)
        assert.match(
          stdout,
          /provider moz: moz refused the caller: HTTP 403, no\\u\{1b\}\[31m such \\u\{202e\}key: <redacted> or <redacted>/,
        )
        assert.notInclude(stdout, "SECRET")
        assert.notInclude(stdout, FakeMoz.token)
      }),
  )

  it.scopedLive(
    "the doctor exits with 1 when checks fail, and its message names only the failed checks",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        writeFileSync(join(cwd, "no.db"), "this is no database, and long enough to show it")
        const moz = yield* FakeMoz.make
        const { code, stderr, stdout } = yield* verb(cwd, ["doctor"], {
          ...FakeMoz.settings(moz.url),
          AUTHORITY_DATABASE_URL: "sqlite:no.db",
          AUTHORITY_PROVIDER: "moz,dataforseo",
        })
        assert.strictEqual(code, 1)
        assert.match(stdout, /failure +database: the database file is damaged/)
        assert.match(stdout, /ok +provider moz: reachable/)
        assert.strictEqual(
          stderr,
          "authority: these checks failed: database, provider dataforseo; the output says how to fix them\n",
        )
      }),
  )
})
