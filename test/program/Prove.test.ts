/** `authority doctor --prove` on real servers, sound and unsound. */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as PostgresClient from "../../src/sql/Postgres.ts"
import * as EngineProxy from "../../scripts/support/EngineProxy.ts"
import { eventually } from "../../scripts/support/eventually.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import { exited, folder, run, start } from "../support/Program.ts"

const timeout = 120_000

const on = (url: string) => ({ AUTHORITY_PROVE_URL: `${url}/postgres` })

const prove = (url: string, seconds: number) =>
  Effect.gen(function* () {
    const args = ["doctor", "--prove", "--json", "--seconds", String(seconds)]
    const { code, stderr, stdout } = yield* run(yield* folder, args, on(url))
    const { findings } = decode(stdout)
    const detailOf = (property: string) =>
      findings.find(({ subject }) => subject === property)?.detail ?? ""
    const failed = findings.filter(({ state }) => state !== "pass")
    return { code, stderr, detailOf, failed: failed.map(({ subject }) => subject) }
  })

const Findings = Schema.Array(
  Schema.Struct({ state: Schema.String, subject: Schema.String, detail: Schema.String }),
)
const decode = Schema.decodeSync(Schema.parseJson(Schema.Struct({ findings: Findings })))

const schemasOn = (url: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE 'authority%'`,
  ).pipe(Effect.provide(PostgresClient.layer(Redacted.make(`${url}/postgres`))))

describe("a proof of a sound database", () => {
  it.scopedLive(
    "a durable PostgreSQL passes in every property, and nothing stays in the database",
    () =>
      Effect.gen(function* () {
        const { url } = yield* Effect.acquireRelease(
          Effect.promise(() => Postgres.start({ durable: true })),
          ({ destroy }) => Effect.promise(destroy),
        )
        const { code, detailOf, failed, stderr } = yield* prove(url, 2)
        assert.deepStrictEqual({ code, failed }, { code: 0, failed: [] })
        assert.match(stderr, /^authority: the ledger runs for 2 s in the schema \w+, .*\n$/)
        assert.match(
          detailOf("no lost charge"),
          /[1-9]\d* connections? ended and [1-9]\d* answers? to COMMIT lost/,
        )
        assert.deepStrictEqual(yield* schemasOn(url), [])
      }),
    timeout,
  )
})

/** Older than the tests' other servers, where it is installed. */
const programs = process.env["POSTGRES_15"] ?? "/usr/lib/postgresql/15"

describe("a proof of a server with fsync off", () => {
  let postgres: Postgres.Server
  beforeAll(async () => {
    postgres = await Postgres.start({ durable: false, ...(existsSync(programs) && { programs }) })
  })
  afterAll(() => postgres.destroy())

  const proxy = (options: Omit<EngineProxy.Options, "server">) =>
    Effect.acquireRelease(
      Effect.promise(() => EngineProxy.start({ server: postgres.url, ...options })),
      ({ stop }) => Effect.promise(stop),
    )

  it.scopedLive(
    "only the durability fails, although the engine asks for restarts",
    () =>
      Effect.gen(function* () {
        const { url } = yield* proxy({ conflicts: 0.05 })
        const { code, detailOf, failed, stderr } = yield* prove(url, 1)
        assert.deepStrictEqual({ code, failed }, { code: 1, failed: ["durability"] })
        assert.match(detailOf("durability"), /^fsync is off, .*; turn fsync on$/)
        assert.match(stderr, /^authority: these checks failed: durability; .*\n$/m)
      }),
    timeout,
  )

  it.scopedLive(
    "the isolation fails if the engine ignores row locks without an error",
    () =>
      Effect.gen(function* () {
        const { url } = yield* proxy({ conflicts: 0, dropsRowLocks: true })
        const { code, detailOf, failed } = yield* prove(url, 1)
        assert.strictEqual(code, 1)
        assert.include(failed, "isolation")
        assert.match(detailOf("isolation"), /ignores the row locks of SELECT … FOR UPDATE; do not/)
      }),
    timeout,
  )

  it.scopedLive(
    "Ctrl-C ends the proof with the exit code 1, and removes its schema",
    () =>
      Effect.gen(function* () {
        const args = ["doctor", "--prove", "--seconds", "100"]
        const proof = yield* start(yield* folder, args, on(postgres.url))
        yield* eventually("the ledger runs", () => proof.stderr().includes("the ledger runs"))
        yield* Effect.promise(() => sleep(1000))
        proof.signal("SIGINT")
        assert.strictEqual(yield* exited(proof), 1)
        assert.deepStrictEqual(yield* schemasOn(postgres.url), [])
      }),
    timeout,
  )
})
