/** What the doctor and the other verbs print about a PostgreSQL server, without secrets. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as PostgresClient from "../../src/sql/Postgres.ts"
import { folder, run, serve } from "../support/Program.ts"
import { temporaryDatabase } from "../support/Stores.ts"
import { verb } from "../support/Verb.ts"
import { eventually } from "../../scripts/support/RawHttp.ts"

const timeout = 120_000

const on = (url: string) => ({ AUTHORITY_DATABASE_URL: url })

describe("a connection string", () => {
  it.scopedLive(
    "the doctor shows user, hosts and database of a connection string, but no password",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { host, pathname } = new URL(Redacted.value(yield* temporaryDatabase))
        const shown = `postgres://authority@${host}${pathname}`
        const wrong = "the server refuses the user|there is no database"
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
          assert.match(stderr, /^authority: these checks failed: [^\n]+\n$/, url)
        }
      }),
    timeout,
  )

  it.scopedLive(
    "a wrong connection string stops a verb with one line that contains no password",
    () =>
      Effect.gen(function* () {
        const wrong = on("postgres://u:x@SECRET@h/d")
        const { code, stderr } = yield* run(yield* folder, ["serve"], wrong)
        assert.strictEqual(code, 1)
        assert.match(stderr, /^authority: AUTHORITY_DATABASE_URL: [^\n]+\n$/)
        assert.notInclude(stderr, "SECRET")
        for (const [url, problem] of [
          ["postgres://u:x@SECRET@h/d", /AUTHORITY_DATABASE_URL: .*percent-encode it/],
          ["postgres://u:SECRET@h/d?sslmod=require", /did you mean sslmode\?/],
          ["u:SECRET@h/d", /AUTHORITY_DATABASE_URL: expected sqlite:FILE or postgres:/],
        ] as const) {
          for (const args of [
            ["account", "list"],
            ["account", "create", "acme"],
          ]) {
            const error = String(yield* Effect.flip(verb(args, on(url))))
            assert.match(error, problem)
            assert.notInclude(error, "SECRET")
          }
        }
      }),
    timeout,
  )
})

const execute = (url: string, statement: string) =>
  SqlClient.SqlClient.pipe(
    Effect.flatMap((sql) => sql.unsafe(statement)),
    Effect.provide(PostgresClient.layer(Redacted.make(url))),
  )

/** Creates a schema whose `current_setting` hides the server's own and reports version 13. */
const sayingVersion13 = (url: string) =>
  execute(
    url,
    `CREATE SCHEMA old;
    CREATE FUNCTION old.current_setting(name TEXT) RETURNS TEXT LANGUAGE sql AS $$
      SELECT CASE name
        WHEN 'server_version' THEN '13.22'
        WHEN 'server_version_num' THEN '130022'
        ELSE pg_catalog.current_setting(name)
      END
    $$`,
  )

describe("the doctor and a PostgreSQL server", () => {
  it.scopedLive(
    "the doctor shows PostgreSQL's version, TLS and pooler, and warns of unsafe commits",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const url = Redacted.value(yield* temporaryDatabase)
        yield* run(cwd, ["account", "create", "acme"], on(url))
        const { host, pathname } = new URL(url)
        yield* execute(url, `ALTER DATABASE ${pathname.slice(1)} SET synchronous_commit = off`)
        const { code, stderr, stdout } = yield* run(cwd, ["doctor"], on(url))
        assert.strictEqual(code, 0, stdout)
        assert.match(stdout, new RegExp(`ok +server: PostgreSQL \\d+\\.\\d+ at ${host}, a primary`))
        assert.match(stdout, /ok +TLS: not in use\n/)
        assert.match(stdout, /ok +pooler: none, connected directly\n/)
        assert.match(stdout, /warning +synchronous_commit: off for this role/)
        assert.match(stdout, /warning +fsync: off, so a crash/)
        assert.notMatch(stdout, / version: /)
        assert.strictEqual(stderr, "")
      }),
    timeout,
  )

  it.scopedLive(
    "the doctor and the service warn of a PostgreSQL server older than 14",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const url = Redacted.value(yield* temporaryDatabase)
        yield* sayingVersion13(url)
        const settings = on(`${url}?options=-csearch_path%3Dold,pg_catalog`)
        const service = yield* serve(cwd, settings)
        const warning = "PostgreSQL 13.22 is older than 14, the oldest supported version"
        yield* eventually("the service warns", () => service.stdout().includes(warning))
        assert.strictEqual(service.stdout().split(warning).length, 2)

        const { code, stdout } = yield* run(cwd, ["doctor"], settings)
        assert.strictEqual(code, 0, stdout)
        assert.match(stdout, new RegExp(`warning +version: ${warning}`))
      }),
    timeout,
  )
})
