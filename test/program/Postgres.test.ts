/** What the verbs say of a PostgreSQL: what it is, what is wrong with it, and no secret. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { folder, run } from "../support/Program.ts"
import { temporaryDatabase } from "../support/Stores.ts"

const timeout = 120_000

const on = (url: string) => ({ AUTHORITY_DATABASE_URL: url })

describe("a connection string", () => {
  it.scopedLive(
    "shows user, hosts, ports and database to the doctor's reader, and no secret",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { host, pathname } = new URL(Redacted.value(yield* temporaryDatabase))
        const shown = `postgres://authority@${host}${pathname}`
        const wrong = "the database refuses|there is no database"
        for (const [url, setting, problem] of [
          [`${shown}?password=SECRET`, shown, wrong],
          [`postgres://authority:SECRET@${host}${pathname}`, shown, wrong],
          [`${shown}?password=authority&sslpassword=SECRET`, shown, wrong],
          [`postgres://authority:x@SECRET@${host}/x`, "postgres://…", "percent-encode it"],
          [`postgres://authority:x/SECRET@${host}/x`, "postgres://…", "percent-encode it"],
          [`${shown}?password=x&SECRET=y`, "postgres://…", "percent-encode it"],
          [`${shown}?sslmod=require`, "postgres://…", "did you mean sslmode?"],
        ] as const) {
          const { code, stderr, stdout } = yield* run(cwd, ["doctor"], on(url))
          const printed = stdout + stderr
          assert.strictEqual(code, 1)
          assert.include(stdout, `AUTHORITY_DATABASE_URL: ${setting} (environment)`)
          assert.match(stdout, new RegExp(`failure +database: .*(${problem.replace("?", "\\?")})`))
          assert.notInclude(printed, "SECRET", url)
          assert.match(stderr, /^authority: \d of the examinations failed[^\n]*\n$/, url)
        }
      }),
    timeout,
  )

  it.scopedLive(
    "that is wrong stops a verb with one line",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        for (const [url, problem] of [
          ["postgres://u:x@SECRET@h/d", /AUTHORITY_DATABASE_URL: .*percent-encode it/],
          ["postgres://u:SECRET@h/d?sslmod=require", /did you mean sslmode\?/],
          ["u:SECRET@h/d", /AUTHORITY_DATABASE_URL: expected sqlite:FILE or postgres:/],
        ] as const) {
          for (const args of [["serve"], ["account", "list"], ["account", "create", "acme"]]) {
            const { code, stderr, stdout } = yield* run(cwd, args, on(url))
            assert.strictEqual(code, 1)
            assert.match(stderr, /^authority: [^\n]+\n$/)
            assert.match(stderr, problem)
            assert.notInclude(stdout + stderr, "SECRET")
          }
        }
      }),
    timeout,
  )
})
