/** Tests which verbs create tables, which change the schema, and which refuse the database. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Postgres from "../../src/database/Postgres.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import { hasPostgres, temporaryDatabase } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { verb } from "../support/Verb.ts"

const engines = {
  sqlite: (cwd: string) => Effect.succeed(`sqlite:${join(cwd, "authority.db")}`),
  postgres: () => Effect.map(temporaryDatabase, Redacted.value),
}

/** Runs SQL text on a database, and returns the rows of the last statement. */
const execute = (url: string, text: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(
      text.split(/;\n/).filter((part) => part.trim() !== ""),
      (statement) => sql.unsafe<{ found: unknown }>(statement),
    ),
  ).pipe(
    Effect.map((results) => results.at(-1) ?? []),
    Effect.provide(
      url.startsWith("sqlite:")
        ? Sqlite.layer(url.slice("sqlite:".length))
        : Postgres.layer(Redacted.make(url)),
    ),
  )

const dump = (name: string) =>
  readFileSync(join(import.meta.dirname, `../upgrade/${name}.sql`), "utf8")

/** A database that version 1.1.0 wrote. */
const oldData = (engine: string) => dump(`8b50055-new.${engine}`)

/** A database that version 1.0.0 wrote, reduced to what this version reads of it. */
const tooOldData = {
  sqlite: dump("47bc1c2.sqlite"),
  postgres: `${oldData("postgres")}
DELETE FROM effect_sql_migrations WHERE migration_id > 4;
`,
}

const schemaOf = (url: string) =>
  Effect.map(
    execute(url, "SELECT MAX(migration_id) AS found FROM effect_sql_migrations"),
    (rows) => rows[0]?.found,
  )

/** Verbs that use a database, and the arguments that they need. */
const users = (cwd: string) => {
  writeFileSync(join(cwd, "list.csv"), "1,example.com\n")
  return [
    ["doctor"],
    ["account", "create", "another"],
    ["account", "list"],
    ["key", "list", "--account", "acme"],
    ["credits", "grant", "--account", "acme", "--amount", "1"],
    ["credits", "verify"],
    ["dataset", "import", "list.csv", "--format", "tranco"],
  ]
}

const engine = hasPostgres ? "postgres" : "sqlite"

describe(`the schema of a ${engine} database`, () => {
  const started = Effect.gen(function* () {
    const cwd = yield* temporaryFolder
    const url = yield* engines[engine](cwd)
    return { cwd, url, settings: { AUTHORITY_DATABASE_URL: url } }
  })

  it.scopedLive(
    "a verb other than serve and migrate refuses an older or newer schema, names both versions and changes nothing",
    () =>
      Effect.gen(function* () {
        const { cwd, settings, url } = yield* started
        yield* execute(url, oldData(engine))
        const refuses = (message: RegExp) =>
          Effect.forEach(
            engine === "sqlite" ? [...users(cwd), ["backup", "copy.db"]] : users(cwd),
            (args) =>
              Effect.map(verb(cwd, args, settings), ({ code, stderr, stdout }) => {
                assert.strictEqual(code, 1, args.join(" "))
                assert.match(args[0] === "doctor" ? stdout : stderr, message)
                assert.match(stderr, /^authority: [^\n]+\n$/)
              }),
          )
        yield* refuses(/older version \(schema 16\) than this program \(schema \d+\)/)
        assert.strictEqual(yield* schemaOf(url), 16)

        yield* verb(cwd, ["migrate"], settings)
        yield* execute(
          url,
          "INSERT INTO effect_sql_migrations (migration_id, name) VALUES (999, 'newer')",
        )
        yield* refuses(/newer version \(schema 999\) than this program \(schema \d+\)/)
        assert.strictEqual((yield* verb(cwd, ["migrate"], settings)).code, 1)
      }),
  )

  it.scopedLive("migrate updates an older schema, and the ledger stays correct", () =>
    Effect.gen(function* () {
      const { cwd, settings, url } = yield* started
      yield* execute(url, oldData(engine))
      const migrate = Effect.map(verb(cwd, ["migrate", "--json"], settings), ({ code, stdout }) => {
        assert.strictEqual(code, 0)
        return JSON.parse(stdout)
      })
      const { from, to } = yield* migrate
      assert.strictEqual(from, 16)
      assert.strictEqual(yield* schemaOf(url), to)
      assert.deepStrictEqual(yield* migrate, { from: to, to })
      const { code, stdout } = yield* verb(cwd, ["credits", "verify"], settings)
      assert.strictEqual(code, 0, stdout)
    }),
  )

  it.scopedLive(
    "every verb refuses a schema that is older than 1.1.0's, says how to migrate it, and changes nothing",
    () =>
      Effect.gen(function* () {
        const { cwd, settings, url } = yield* started
        yield* execute(url, tooOldData[engine])
        for (const args of [["serve"], ["migrate"], ["account", "list"]]) {
          const { code, stderr } = yield* verb(cwd, args, settings)
          assert.strictEqual(code, 1)
          assert.match(
            stderr,
            /^authority: [^\n]+ \(schema 4\) [^\n]+; run 'authority migrate' of version 1\.1\.0 on it first\n$/,
          )
        }
        assert.strictEqual(yield* schemaOf(url), 4)
      }),
  )

  it.scopedLive(
    "no verb creates tables in another program's database, or migrates a missing one",
    () =>
      Effect.gen(function* () {
        const { cwd, settings, url } = yield* started
        const missing = yield* verb(cwd, ["migrate"], settings)
        assert.strictEqual(missing.code, 1)
        assert.match(missing.stderr, /^authority: there is no database at /)

        if (engine === "sqlite") {
          const other = new DatabaseSync(join(cwd, "authority.db"))
          other.exec("CREATE TABLE memoirs (page INTEGER)")
          other.close()
        } else yield* execute(url, "CREATE TABLE memoirs (page INTEGER)")
        const before = engine === "sqlite" && readFileSync(join(cwd, "authority.db"))
        writeFileSync(join(cwd, "list.csv"), "1,example.com\n")
        for (const args of [
          ["account", "create", "acme"],
          ["dataset", "import", "list.csv", "--format", "tranco"],
          ["serve"],
        ]) {
          const { code, stderr } = yield* verb(cwd, args, settings)
          assert.strictEqual(code, 1)
          assert.match(stderr, /^authority: the database at \S+ belongs to another .+memoirs;.+\n$/)
        }
        if (engine === "sqlite") {
          assert.deepStrictEqual(readFileSync(join(cwd, "authority.db")), before)
        } else {
          const tables = "SELECT tablename AS found FROM pg_tables WHERE schemaname = 'public'"
          assert.deepStrictEqual(yield* execute(url, tables), [{ found: "memoirs" }])
        }
      }),
  )
})

describe("creating a database in memory", () => {
  it.scopedLive("a verb that creates a database refuses sqlite::memory:", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* verb(
        yield* temporaryFolder,
        ["account", "create", "acme", "--credits", "5"],
        { AUTHORITY_DATABASE_URL: "sqlite::memory:" },
      )
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.match(stderr, /^authority: AUTHORITY_DATABASE_URL is a database in memory, .+\n$/)
    }),
  )
})
