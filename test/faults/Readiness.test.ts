/**
 * Tests a service that answers but cannot write: it is not ready, says why, and recovers by itself.
 */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Sqlite from "../../src/database/Sqlite.ts"
import { folder, openAccount, run, serve } from "../support/Program.ts"
import * as SmallDisk from "../support/SmallDisk.ts"
import { postgresDatabase, temporaryDatabase } from "../support/Stores.ts"
import { request } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

const Ready = Schema.parseJson(
  Schema.Struct({
    success: Schema.Boolean,
    parts: Schema.Struct({ writes: Schema.String, migrations: Schema.String }),
  }),
)

/** Returns the status of `/health/ready` and its part `writes`, once the first write has ended. */
const readiness = (url: string) =>
  Effect.gen(function* () {
    const { status, text } = yield* request(url, { path: "/health/ready" })
    const { parts, success } = yield* Schema.decode(Ready)(text)
    assert.strictEqual(success, status === 200)
    return { status, writes: parts.writes }
  }).pipe(Effect.repeat({ while: ({ writes }) => writes === "no commit yet" }))

const isReady = (url: string) => Effect.map(readiness(url), ({ status }) => status === 200)

const becomesUnready = (url: string) =>
  Effect.zipRight(
    eventually(
      "the service is not ready",
      Effect.map(isReady(url), (ready) => !ready),
    ),
    Effect.map(readiness(url), ({ writes }) => writes),
  )

/** Returns the finding of `authority doctor` about writing. */
const diagnosis = (cwd: string, settings: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const { code, stdout } = yield* run(cwd, ["doctor", "--json"], settings)
    const { findings } = yield* Schema.decode(Findings)(stdout)
    const finding = findings.find(({ subject }) => subject === "writing")
    return { code, state: finding?.state, detail: finding?.detail ?? "" }
  })

const Findings = Schema.parseJson(
  Schema.Struct({
    findings: Schema.Array(
      Schema.Struct({ state: Schema.String, subject: Schema.String, detail: Schema.String }),
    ),
  }),
)

const missing = SmallDisk.isMissing()
if (missing !== undefined) console.warn(`NOT DONE: no disk to fill or to protect (${missing}).`)

describe("a database that another program has locked", () => {
  it.scopedLive("a service is not ready while another program locks its database", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      yield* openAccount(cwd, 10)
      const { url } = yield* serve(cwd)
      assert.deepStrictEqual(yield* readiness(url), { status: 200, writes: "working" })
      assert.deepInclude(yield* diagnosis(cwd), { code: 0, state: "ok" })

      const sql = Context.get(
        yield* Layer.build(Sqlite.layer(join(cwd, "authority.db"))),
        SqlClient.SqlClient,
      )
      yield* sql`BEGIN IMMEDIATE`
      const writes = yield* becomesUnready(url)
      assert.match(writes, /^no commit in the last 10 seconds/)
      const { code, detail, state } = yield* diagnosis(cwd)
      assert.deepStrictEqual([code, state], [1, "failure"])
      assert.match(detail, /locked by another program; end that program, or try later/)
      assert.match(
        (yield* readiness(url)).writes,
        /: the database is too slow, or locked by another program$/,
      )
      yield* sql`ROLLBACK`
      yield* eventually("the service is ready again", isReady(url))
    }),
  )
})

describe("a PostgreSQL role without write permission", () => {
  it.scopedLive(
    "a service whose PostgreSQL role may only read is not ready until the role may write",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const admin = yield* temporaryDatabase
        const stores = yield* Layer.build(postgresDatabase(admin))
        const sql = Context.get(stores, SqlClient.SqlClient)
        const reader = new URL(Redacted.value(admin))
        const role = `reader_${reader.pathname.slice(1)}`
        yield* sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'reader'`)
        yield* sql.unsafe(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`)
        reader.username = role
        reader.password = "reader"
        // With the sandbox as its provider, `serve` would write a demo account at the start.
        const settings = { AUTHORITY_DATABASE_URL: reader.href, AUTHORITY_PROVIDER: "dataset" }

        const { url } = yield* serve(cwd, settings)
        assert.deepStrictEqual(yield* readiness(url), {
          status: 503,
          writes: "no commit yet: the database role lacks a right",
        })
        const { code, detail, state } = yield* diagnosis(cwd, settings)
        assert.deepStrictEqual([code, state], [1, "failure"])
        assert.match(detail, /permission denied for table/)

        yield* sql.unsafe(`GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`)
        yield* eventually("the service is ready", isReady(url))
        assert.deepInclude(yield* diagnosis(cwd, settings), { state: "ok" })
        yield* sql.unsafe(`REVOKE INSERT, UPDATE ON write_check FROM ${role}`)
        assert.match(
          yield* becomesUnready(url),
          /^no commit in the last 10 seconds: the database role/,
        )
      }),
  )
})
