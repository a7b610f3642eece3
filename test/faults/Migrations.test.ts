/** Tests replicas that start at the same time on a database that must be migrated. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import * as Migrations from "../../src/database/migrations/migrate.ts"
import * as Postgres from "../../src/database/Postgres.ts"
import { folder, serve, start } from "../support/Program.ts"
import { postgresDatabase, temporaryDatabase } from "../support/Stores.ts"
import { eventually } from "../support/eventually.ts"

const oldData = readFileSync(
  join(import.meta.dirname, "../upgrade/8b50055-new.postgres.sql"),
  "utf8",
)

const startThree = (url: Redacted.Redacted) =>
  Effect.gen(function* () {
    const cwd = yield* folder
    const settings = { AUTHORITY_DATABASE_URL: Redacted.value(url) }
    return yield* Effect.all([serve(cwd, settings), serve(cwd, settings), serve(cwd, settings)], {
      concurrency: "unbounded",
    })
  })

/** Checks the schema version, and that no lock is left. */
const isMigratedOnce = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  assert.strictEqual(yield* Migrations.applied, Migrations.newest)
  assert.deepStrictEqual(yield* sql`SELECT owner FROM migration_lock`, [])
  assert.deepStrictEqual((yield* (yield* CreditLedger).verify).problems, [])
})

describe("three replicas that start at once", () => {
  it.scopedLive(
    "three replicas that start at once on an empty PostgreSQL database migrate it once, and all serve",
    () =>
      Effect.gen(function* () {
        const url = yield* temporaryDatabase
        const replicas = yield* startThree(url)
        for (const { exitCode } of replicas) assert.isUndefined(exitCode())
        yield* Effect.provide(isMigratedOnce, postgresDatabase(url))
      }),
  )

  it.scopedLive(
    "replicas migrate an older PostgreSQL database after the replica that was migrating it was killed",
    () =>
      Effect.gen(function* () {
        const url = yield* temporaryDatabase
        const client = Effect.map(Layer.build(Postgres.layer(url)), (context) =>
          Context.get(context, SqlClient.SqlClient),
        )
        const [sql, other] = [yield* client, yield* client]
        yield* sql.unsafe(oldData)
        // Reading `purchase_days` makes migration 17 wait, because it changes that table.
        const reader = yield* Effect.fork(
          sql.withTransaction(
            Effect.zipRight(
              sql`SELECT 1 FROM purchase_days`,
              Effect.forever(Effect.zipRight(sql`SELECT 1`, Effect.sleep("500 millis"))),
            ),
          ),
        )
        const killed = yield* start(yield* folder, ["serve"], {
          AUTHORITY_DATABASE_URL: Redacted.value(url),
          AUTHORITY_PORT: "0",
        })
        yield* eventually(
          "the migration waits",
          Effect.map(
            other`SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'purchase_days'::regclass
              AND (SELECT MAX(migration_id) FROM effect_sql_migrations) = 16`,
            (rows) => rows.length > 0,
          ),
        )
        killed.signal("SIGKILL")
        const starting = yield* Effect.fork(startThree(url))
        yield* Fiber.interrupt(reader)
        const replicas = yield* Fiber.join(starting)
        for (const { exitCode } of replicas) assert.isUndefined(exitCode())
        yield* Effect.provide(isMigratedOnce, postgresDatabase(url))
      }),
  )
})
