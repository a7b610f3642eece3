/** Tests the ledger and the service when PostgreSQL restarts, and when connections to it break. */
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import { charge, endLeases, expire, figures, problemsOf } from "../../scripts/support/ledger.ts"
import { newLoad, nothingIsLost, run } from "../support/load.ts"
import * as PostgresClient from "../../src/database/Postgres.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import * as Program from "../support/Program.ts"
import { postgresDatabase, temporaryDatabase } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { eventually } from "../support/eventually.ts"

describe("restarts of PostgreSQL under load", () => {
  it.scopedLive("the ledger loses no charge when PostgreSQL restarts, and recovers by itself", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => Postgres.start({ durable: false })),
        ({ destroy }) => Effect.promise(destroy),
      )
      const database = postgresDatabase(Redacted.make(`${server.url}/postgres`))
      yield* Effect.gen(function* () {
        const account = yield* newAccountWith(100_000)
        const load = newLoad()
        const clients = yield* Effect.fork(run(load, account, 20))
        for (let i = 0; i < 2; i++) {
          const before = load.acknowledged.length
          yield* eventually("requests are charged", () => load.acknowledged.length > before + 100)
          yield* Effect.promise(server.stop)
          const failed = load.failures.length
          yield* eventually("requests fail", () => load.failures.length > failed + 20)
          yield* Effect.promise(server.start)
        }
        const before = load.acknowledged.length
        yield* eventually(
          "requests are charged again",
          () => load.acknowledged.length > before + 100,
        )
        load.isOver = true
        yield* Fiber.join(clients)

        for (const message of new Set(load.failures))
          assert.match(message, /^the database cannot be/)
        yield* nothingIsLost(load, account)
        yield* endLeases
        yield* expire
        assert.strictEqual((yield* figures(account)).held, 0)
        assert.deepStrictEqual(yield* problemsOf(account), [])
      }).pipe(Effect.provide(database))
    }),
  )
})

describe("broken PostgreSQL connections", () => {
  it.scopedLive(
    "the ledger loses no acknowledged charge when its connections to PostgreSQL break",
    () =>
      Effect.gen(function* () {
        const url = yield* temporaryDatabase
        const other = Context.get(yield* Layer.build(postgresDatabase(url)), SqlClient.SqlClient)
        yield* Effect.gen(function* () {
          const account = yield* newAccountWith(100_000)
          const load = newLoad()
          const clients = yield* Effect.fork(run(load, account, 20))
          for (let i = 0; i < 20; i++) {
            const before = load.acknowledged.length
            yield* eventually("requests are charged", () => load.acknowledged.length > before + 10)
            yield* other`
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()`
          }
          load.isOver = true
          yield* Fiber.join(clients)
          for (const message of new Set(load.failures)) assert.notMatch(message, /^not described/)
          yield* nothingIsLost(load, account)
          yield* charge(account, 1)
        }).pipe(Effect.provide(postgresDatabase(url)))
      }),
  )
})

describe("a PostgreSQL server that is too old", () => {
  it.scopedLive("the doctor and the service warn of a PostgreSQL server older than 14", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const url = Redacted.value(yield* temporaryDatabase)
      yield* sayingVersion13(url)
      const settings = {
        AUTHORITY_DATABASE_URL: `${url}?options=-csearch_path%3Dold,pg_catalog`,
      }
      const service = yield* Program.serve(cwd, settings)
      const warning = "PostgreSQL 13.22 is older than 14, the oldest supported version"
      yield* eventually("the service warns", () => service.stdout().includes(warning))
      assert.strictEqual(service.stdout().split(warning).length, 2)

      const { code, stdout } = yield* Program.run(cwd, ["doctor"], settings)
      assert.strictEqual(code, 0, stdout)
      assert.match(stdout, new RegExp(`warning +version: ${warning}`))
    }),
  )
})

/** Creates a schema with a `current_setting` that hides the server's own and reports version 13. */
const sayingVersion13 = (url: string) =>
  SqlClient.SqlClient.pipe(
    Effect.flatMap((sql) =>
      sql.unsafe(`CREATE SCHEMA old;
    CREATE FUNCTION old.current_setting(name TEXT) RETURNS TEXT LANGUAGE sql AS $$
      SELECT CASE name
        WHEN 'server_version' THEN '13.22'
        WHEN 'server_version_num' THEN '130022'
        ELSE pg_catalog.current_setting(name)
      END
    $$`),
    ),
    Effect.provide(PostgresClient.layer(Redacted.make(url))),
  )
