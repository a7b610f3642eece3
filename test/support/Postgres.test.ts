/** The PostgreSQL server that the tests start. */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as PostgresClient from "../../src/sql/Postgres.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import * as Standby from "../../scripts/support/Standby.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

const isRoot = process.getuid?.() === 0

describe("PostgreSQL for the tests", () => {
  it.scopedLive.skipIf(!isRoot)(
    "the test PostgreSQL starts even if only root can access the folder of its programs",
    () =>
      Effect.gen(function* () {
        // `mkdtemp` creates a folder that other users cannot enter.
        const programs = join(yield* temporaryFolder, "native")
        cpSync(Postgres.packaged(), programs, { recursive: true, verbatimSymlinks: true })
        const server = yield* Effect.acquireRelease(
          Effect.promise(() => Postgres.start({ durable: false, programs })),
          ({ destroy }) => Effect.promise(destroy),
        )
        const rows = yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1 AS one`).pipe(
          Effect.provide(PostgresClient.layer(Redacted.make(`${server.url}/postgres`))),
        )
        assert.deepStrictEqual(rows, [{ one: 1 }])
      }),
  )

  it.scopedLive("the test PostgreSQL reports the reason when it cannot start", () =>
    Effect.gen(function* () {
      const programs = yield* temporaryFolder
      const error = yield* Effect.flip(
        Effect.tryPromise({
          try: () => Postgres.start({ durable: false, programs }),
          catch: String,
        }),
      )
      assert.match(error, /^Error: PostgreSQL cannot start: .*initdb cannot be run \(ENOENT\)$/)
    }),
  )
})

describe("a standby for the tests", () => {
  it.scopedLive("the test standby replicates its primary, and takes writes after a promotion", () =>
    Effect.gen(function* () {
      const { primary, standby } = yield* Effect.acquireRelease(
        Effect.promise(() => Standby.start({ durable: false, synchronous: true })),
        ({ destroy }) => Effect.promise(destroy),
      )
      const on = ({ url }: Postgres.Server) =>
        Effect.provide(PostgresClient.layer(Redacted.make(`${url}/postgres`)))
      yield* Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql.withTransaction(sql`CREATE TABLE written AS SELECT 1 AS one`),
      ).pipe(on(primary))
      yield* Effect.promise(primary.kill)
      yield* Effect.promise(standby.promote)
      const rows = yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`INSERT INTO written VALUES (2) RETURNING (SELECT count(*) FROM written)`,
      ).pipe(on(standby))
      assert.deepStrictEqual(rows, [{ count: 1 }])
    }),
  )
})
