/** `authority doctor --prove` on real servers, sound and unsound. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as PostgresClient from "../../src/sql/Postgres.ts"
import { eventually } from "../../scripts/support/eventually.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import { exited, folder, run, start } from "../support/Program.ts"

const timeout = 120_000

const server = (options: Postgres.Options) =>
  Effect.acquireRelease(
    Effect.promise(() => Postgres.start(options)),
    ({ destroy }) => Effect.promise(destroy),
  )

const on = ({ url }: Postgres.Server) => ({ AUTHORITY_PROVE_URL: `${url}/postgres` })

const schemasOn = ({ url }: Postgres.Server) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE 'authority%'`,
  ).pipe(Effect.provide(PostgresClient.layer(Redacted.make(`${url}/postgres`))))

describe("a proof of a database", () => {
  it.scopedLive(
    "a durable PostgreSQL passes in every property, and nothing stays in the database",
    () =>
      Effect.gen(function* () {
        const postgres = yield* server({ durable: true })
        const args = ["doctor", "--prove", "--seconds", "2", "--json"]
        const { code, stderr, stdout } = yield* run(yield* folder, args, on(postgres))
        const findings: ReadonlyArray<{ state: string; subject: string; detail: string }> =
          JSON.parse(stdout).findings
        assert.deepStrictEqual(
          findings.filter(({ state }) => state !== "pass"),
          [],
        )
        assert.strictEqual(code, 0)
        assert.match(
          stderr,
          /^authority: the ledger runs for 2 s in the schema authority_prove_\w+, .*\n$/,
        )
        const lost = findings.find(({ subject }) => subject === "no lost charge")?.detail
        assert.match(
          String(lost),
          /[1-9]\d* connections? ended and [1-9]\d* answers? to COMMIT lost/,
        )
        assert.deepStrictEqual(yield* schemasOn(postgres), [])
      }),
    timeout,
  )

  it.scopedLive(
    "a server with fsync off fails, and Ctrl-C ends a proof and removes its schema",
    () =>
      Effect.gen(function* () {
        const postgres = yield* server({ durable: false })
        const cwd = yield* folder
        const args = ["doctor", "--prove", "--seconds"]
        const { code, stderr, stdout } = yield* run(cwd, [...args, "1"], on(postgres))
        assert.strictEqual(code, 1)
        assert.match(stdout, /^fail +durability: fsync is off, .*; turn fsync on$/m)
        assert.match(stderr, /these checks failed: durability;/)
        assert.match(stdout, /^pass +books: /m)

        const proof = yield* start(cwd, [...args, "100"], on(postgres))
        yield* eventually("the ledger runs", () => proof.stderr().includes("the ledger runs"))
        yield* Effect.promise(() => sleep(1000))
        proof.signal("SIGINT")
        assert.strictEqual(yield* exited(proof), 1)
        assert.deepStrictEqual(yield* schemasOn(postgres), [])
      }),
    timeout,
  )
})
