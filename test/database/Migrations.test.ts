/** Tests interrupted migrations on both databases, and the lock of the migrating process. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Migrations from "../../src/database/migrations/migrate.ts"
import * as Failure from "../../src/database/Failure.ts"
import * as Postgres from "../../src/database/Postgres.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import type { StoreFailure } from "../../src/database/StoreFailure.ts"
import { engine, hasPostgres, newFile, temporaryDatabase } from "../support/Stores.ts"

const oldData = readFileSync(
  join(import.meta.dirname, "../upgrade/8b50055-new.postgres.sql"),
  "utf8",
)

const execute = (sql: SqlClient.SqlClient, text: string) =>
  Effect.forEach(
    text.split(/;\n/).filter((part) => part.trim() !== ""),
    (statement) => sql.unsafe(statement),
    { discard: true },
  )

const migrateWith = (sql: SqlClient.SqlClient) =>
  Effect.provideService(Migrations.run, SqlClient.SqlClient, sql)

/** Reads columns, indexes, constraints, triggers and rows, which interruptions must not change. */
const contentOfPostgres = (sql: SqlClient.SqlClient) =>
  Effect.all([
    sql`SELECT table_name, column_name, data_type, is_nullable, column_default
      FROM information_schema.columns WHERE table_schema = 'public'
      ORDER BY table_name, ordinal_position`,
    sql`SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexdef`,
    sql`SELECT conrelid::regclass::text AS t, conname, pg_get_constraintdef(oid) AS definition
      FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2`,
    sql`SELECT tgname, pg_get_triggerdef(oid) AS definition FROM pg_trigger WHERE NOT tgisinternal`,
    sql`SELECT migration_id, name FROM effect_sql_migrations ORDER BY 1`,
    sql`SELECT sequence, action, detail FROM audit_log ORDER BY 1`,
  ])

const contentOfSqlite = (sql: SqlClient.SqlClient) =>
  Effect.all([
    sql`SELECT type, name, sql FROM sqlite_schema ORDER BY type, name`,
    sql`SELECT migration_id, name FROM effect_sql_migrations ORDER BY 1`,
    sql`SELECT sequence, action, detail FROM audit_log ORDER BY 1`,
  ])

type Run = ReturnType<Connection["execute"]>

/** Wraps each statement inside a transaction in `change`. Other statements stay as they are. */
const around = (sql: SqlClient.SqlClient, change: (text: string, run: Run) => Run) => {
  const changed =
    (execute: Connection["execute"]): Connection["execute"] =>
    (text, ...rest) =>
      Effect.suspend(() => change(text, execute(text, ...rest)))
  return Object.assign(sql, {
    reserve: Effect.map(sql.reserve, (connection) => ({
      ...connection,
      execute: changed(connection.execute.bind(connection)),
      executeUnprepared: changed(connection.executeUnprepared.bind(connection)),
    })),
  })
}

const changesSchema = /^\s*(CREATE|ALTER|DROP)\s/

const crash = new SqlError({ cause: new Error("the simulated crash") })

/** Fails once after each statement that changes the schema, as if the process had crashed there. */
const crashing = () => {
  const seen = new Set<string>()
  const change = (text: string, run: Run): Run =>
    seen.has(text) || !changesSchema.test(text)
      ? run
      : Effect.zipRight(
          run,
          Effect.suspend(() => {
            seen.add(text)
            return Effect.fail(crash)
          }),
        )
  return { seen, change }
}

/** Runs a statement outside the current transaction. */
const byItself = (sql: SqlClient.SqlClient, text: string): Run =>
  Effect.scoped(
    Effect.flatMap(sql.reserve, (connection) => connection.execute(text, [], undefined)),
  )

/** Migrates until no crash happens any more. Returns how many starts that took. */
const untilMigrated = (sql: SqlClient.SqlClient, starts = 1): Effect.Effect<number, StoreFailure> =>
  Effect.catchIf(
    Effect.as(migrateWith(sql), starts),
    ({ cause }) => Failure.wordsOf(cause) === "the simulated crash",
    () => untilMigrated(sql, starts + 1),
  )

const engines = {
  SQLite: {
    client: Effect.map(newFile, (file) => Sqlite.layer(file)),
    content: contentOfSqlite,
  },
  PostgreSQL: {
    client: Effect.map(temporaryDatabase, (url) => Postgres.layer(url)),
    content: contentOfPostgres,
  },
}

/** `node scripts/engines.ts` does not repeat these tests of the migrations themselves. */
const isEngines = process.env["POSTGRES_URL"] !== undefined

describe.skipIf(isEngines)(`a migration on ${engine}`, () => {
  const { client, content } = engines[engine]
  const opened = Effect.flatMap(client, (layer) =>
    Effect.map(Layer.build(layer), (context) => Context.get(context, SqlClient.SqlClient)),
  )
  /** The content of a database that was migrated without a crash. */
  const reference = Effect.gen(function* () {
    const sql = yield* opened
    yield* migrateWith(sql)
    return yield* content(sql)
  })

  it.scopedLive(
    "a database has the same content whether or not the process crashes after each statement of the migration",
    () =>
      Effect.gen(function* () {
        const sql = yield* opened
        const { change, seen } = crashing()
        around(sql, change)
        yield* untilMigrated(sql)
        assert.isAtLeast(seen.size, 30)
        assert.deepStrictEqual(yield* content(sql), yield* reference)
      }),
  )

  it.scopedLive("only one process at a time has the migration lock, until it releases it", () =>
    Effect.gen(function* () {
      const sql = yield* opened
      const make = Effect.provideService(Migrations.makeLock, SqlClient.SqlClient, sql)
      const [one, other] = [yield* make, yield* make]
      assert.isTrue(yield* one.take)
      assert.isFalse(yield* other.take)
      assert.isTrue(yield* one.take)
      yield* one.extend
      assert.strictEqual((yield* Effect.flip(other.extend))._tag, "LockLost")
      yield* other.release
      assert.isFalse(yield* other.take)
      yield* one.release
      assert.isTrue(yield* other.take)

      yield* sql`UPDATE migration_lock SET expires_at = expires_at - 5001`
      assert.isTrue(yield* one.take)
      assert.strictEqual((yield* Effect.flip(other.extend))._tag, "LockLost")
    }),
  )

  it.scopedLive("a process waits while another process migrates, and changes nothing", () =>
    Effect.gen(function* () {
      const sql = yield* opened
      const make = Effect.provideService(Migrations.makeLock, SqlClient.SqlClient, sql)
      const other = yield* make
      assert.isTrue(yield* other.take)
      const waiting = yield* Effect.fork(migrateWith(sql))
      yield* Effect.sleep("500 millis")
      assert.deepStrictEqual(yield* sql`SELECT * FROM effect_sql_migrations`, [])
      yield* other.release
      assert.strictEqual(yield* Fiber.join(waiting), 0)
      assert.strictEqual(yield* migrateWith(sql), Migrations.newest)
    }),
  )
})

describe.runIf(hasPostgres)(
  "a migration on an engine that commits each schema change separately",
  () => {
    it.scopedLive.each(["", oldData])(
      "a migration that crashed after any statement is completed by the next start",
      (old) =>
        Effect.gen(function* () {
          const url = yield* temporaryDatabase
          const client = Effect.map(Layer.build(Postgres.layer(url)), (context) =>
            Context.get(context, SqlClient.SqlClient),
          )
          const [sql, autonomous] = [yield* client, yield* client]
          yield* execute(sql, old)
          const { change, seen } = crashing()
          around(sql, (text, run) =>
            change(text, changesSchema.test(text) ? byItself(autonomous, text) : run),
          )
          yield* untilMigrated(sql)
          assert.isAtLeast(seen.size, old === "" ? 30 : 8)
          const { client: another, content } = engines.PostgreSQL
          const reference = Context.get(yield* Layer.build(yield* another), SqlClient.SqlClient)
          yield* execute(reference, old)
          yield* migrateWith(reference)
          assert.deepStrictEqual(yield* content(sql), yield* content(reference))
        }),
    )
  },
)
