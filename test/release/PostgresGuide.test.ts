/** Runs the SQL of the guide "Running on PostgreSQL" on the server of the tests. */
import { assert, describe, inject, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { blocksOf } from "../support/Guide.ts"
import { folder, run, serve } from "../support/Program.ts"
import { batch } from "../support/TestServer.ts"
import { request } from "../support/RawHttp.ts"

const blocks = blocksOf("postgresql.md")

/** Returns the SQL blocks under a heading, each as a list of statements. */
const sqlUnder = (heading: string) =>
  blocks(heading, "sql").map((block) =>
    block.split(";").filter((statement) => statement.trim() !== ""),
  )

const execute = (url: string, statements: ReadonlyArray<string> = []) =>
  SqlClient.SqlClient.pipe(
    Effect.flatMap((sql) =>
      Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true }),
    ),
    // CREATE DATABASE and ALTER SYSTEM cannot run in a transaction.
    Effect.provide(PgClient.layer({ url: Redacted.make(url) })),
  )

describe("the roles and grants of the guide", () => {
  it.scopedLive(
    "with the roles and GRANT statements of the PostgreSQL guide, the owner role can migrate the database, and a role with fewer rights can run the service but cannot change ledger entries",
    () =>
      Effect.gen(function* () {
        const server = inject("postgresUrl")
        const { host } = new URL(server)
        const ownerUrl = `postgres://authority_owner:owner-password@${host}/authority`
        const serviceUrl = `postgres://authority_service:service-password@${host}/authority`
        const owner = { AUTHORITY_DATABASE_URL: ownerUrl }
        const service = { AUTHORITY_DATABASE_URL: serviceUrl }
        const [roles, defaults, grants, appendOnly, ...rest] = sqlUnder("Roles and grants")
        assert.lengthOf(rest, 0)
        const cwd = yield* folder

        yield* Effect.acquireRelease(execute(`${server}/postgres`, roles), () =>
          Effect.orDie(
            execute(`${server}/postgres`, [
              "DROP DATABASE authority WITH (FORCE)",
              "DROP ROLE authority_owner",
              "DROP ROLE authority_service",
            ]),
          ),
        )
        yield* execute(ownerUrl, defaults)
        const early = yield* run(cwd, ["serve"], service)
        assert.deepStrictEqual([early.code, early.stdout], [1, ""])
        assert.match(early.stderr, /^authority: .*permission.*\n$/)
        const created = yield* run(cwd, ["account", "create", "acme", "--credits", "10"], owner)
        assert.strictEqual(created.code, 0, created.stderr)

        const examined = yield* run(cwd, ["doctor"], service)
        assert.strictEqual(examined.code, 0, examined.stdout)
        const issued = yield* run(cwd, ["key", "create", "--account", "acme", "--json"], service)
        const { key } = JSON.parse(issued.stdout)
        const { url } = yield* serve(cwd, service)
        const check = (page: string) =>
          request(url, batch(key, JSON.stringify({ urls: [page] }), { "idempotency-key": page }))
        assert.strictEqual((yield* check("one.example.com")).status, 200)
        yield* execute(ownerUrl, grants)
        yield* execute(ownerUrl, appendOnly)
        assert.strictEqual((yield* check("two.example.com")).status, 200)

        for (const statement of [
          "UPDATE entries SET amount = 1",
          "DELETE FROM entries",
          "DROP TABLE entries",
          "CREATE TABLE more (id BIGINT)",
        ]) {
          assert.isTrue((yield* Effect.either(execute(serviceUrl, [statement])))._tag === "Left")
        }
        const verified = yield* run(cwd, ["credits", "verify"], service)
        assert.strictEqual(verified.code, 0, verified.stdout)
      }),
    120_000,
  )
})
