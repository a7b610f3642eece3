/** The error messages when a real PostgreSQL server refuses something. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freePort } from "../../scripts/free-port.ts"
import * as Health from "../../src/database/Health.ts"
import * as Migrations from "../../src/database/migrations/migrate.ts"
import * as PostgresClient from "../../src/database/Postgres.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import { temporaryDatabase } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { verb } from "../support/Verb.ts"

const client = (url: string) => PostgresClient.layer(Redacted.make(url))

/** Runs statements as the superuser of the database. */
const asOwner = (url: string, ...statements: ReadonlyArray<string>) =>
  SqlClient.SqlClient.pipe(
    Effect.flatMap((sql) => Effect.forEach(statements, (statement) => sql.unsafe(statement))),
    Effect.provide(client(url)),
  )

const migrate = (url: string) => Layer.provide(Migrations.layer, client(url))

/** Returns the error of a start on this database. */
const startOn = (url: string) =>
  Layer.launch(migrate(url)).pipe(
    Effect.flip,
    Effect.map(({ message }) => message),
  )

/** Returns the error of a write to this database. */
const writeTo = (url: string) =>
  Effect.flatMap(Health.Health, ({ write }) => Effect.flip(write)).pipe(
    Effect.map(({ message }) => message),
    Effect.provide(Health.layer.pipe(Layer.provide(client(url)))),
  )

const withUser = (url: string, user: string, password = "") =>
  url.replace("authority:authority@", password === "" ? `${user}@` : `${user}:${password}@`)

/** Creates a database and a role that owns nothing in it. */
const withRole = Effect.gen(function* () {
  const owner = Redacted.value(yield* temporaryDatabase)
  const role = `role_${new URL(owner).pathname.slice(-12)}`
  yield* asOwner(owner, `CREATE ROLE ${role} LOGIN PASSWORD 'hush'`)
  return { owner, role, url: withUser(owner, role, "hush") }
})

const mayUseTables = (role: string) =>
  `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`

describe("a PostgreSQL role without sufficient rights", () => {
  it.scopedLive(
    "a PostgreSQL role that lacks a right gets an error that names the schema or the table",
    () =>
      Effect.gen(function* () {
        const { owner, role, url } = yield* withRole
        const denied = (what: string) =>
          new RegExp(`^the database role lacks a right; .*\\(permission denied for ${what}\\)$`)
        assert.match(yield* startOn(url), denied("schema public"))
        yield* Effect.scoped(Layer.build(migrate(owner)))
        assert.match(yield* startOn(url), denied("table effect_sql_migrations"))
        yield* asOwner(owner, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`)
        yield* Effect.scoped(Layer.build(migrate(url)))
        assert.match(yield* writeTo(url), denied("table write_check"))
      }),
  )

  it.scopedLive(
    "a PostgreSQL role that lacks the right to migrate gets an error that says a migration is due",
    () =>
      Effect.gen(function* () {
        const { owner, role, url } = yield* withRole
        yield* Effect.scoped(Layer.build(migrate(owner)))
        yield* asOwner(
          owner,
          `DELETE FROM effect_sql_migrations WHERE migration_id = ${Migrations.newest}`,
          mayUseTables(role),
        )
        assert.match(
          yield* startOn(url),
          /^the database has schema \d+, but this program needs schema \d+, and the database role has no right to migrate the database; to migrate, set AUTHORITY_DATABASE_URL to a connection string with the role that owns the tables, and run 'authority migrate' \(permission denied for schema public\)$/,
        )
      }),
  )
})

/** A server with a role for each password method. */
const server = { url: "" }
let stop = async () => {}

beforeAll(async () => {
  const postgres = await Postgres.start({ durable: false })
  stop = postgres.destroy
  const rules = join(postgres.data, "pg_hba.conf")
  writeFileSync(
    rules,
    `host all scram all scram-sha-256
     host all md5 all md5
     host all plain all password
     ${readFileSync(rules, "utf8")}`,
  )
  server.url = postgres.url
  await Effect.runPromise(
    asOwner(
      `${postgres.url}/postgres`,
      ...["scram", "md5", "plain"].flatMap((role) => [
        `SET password_encryption = '${role === "md5" ? "md5" : "scram-sha-256"}'`,
        `CREATE ROLE ${role} LOGIN PASSWORD 'hush'`,
      ]),
      "SELECT pg_reload_conf()",
    ),
  )
})

afterAll(() => stop())

describe("a PostgreSQL connection", () => {
  for (const role of ["scram", "md5", "plain"]) {
    it.effect(
      `a wrong or missing ${role} password is refused with an error that names the settings`,
      () =>
        Effect.gen(function* () {
          const url = `${server.url}/postgres`
          for (const password of ["SECRET", ""]) {
            assert.match(
              yield* startOn(withUser(url, role, password)),
              /^the server refuses the login; check user, password and sslmode in AUTHORITY_DATABASE_URL, PGPASSWORD and /,
            )
          }
        }),
    )
  }

  it.scopedLive("a missing PostgreSQL password is read from the password file", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const url = withUser(`${server.url}/postgres`, "scram")
      const { host } = new URL(url)
      const file = join(cwd, "passwords")
      writeFileSync(file, `${host}:other:scram:wrong\n${host}:*:scram:hush\n`, { mode: 0o600 })
      const settings = { AUTHORITY_DATABASE_URL: url, PGPASSFILE: file }
      const { stderr } = yield* verb(cwd, ["account", "list"], settings)
      assert.match(stderr, /^authority: there is no database at [^\n]+\n$/)
    }),
  )

  it.effect(
    "a missing PostgreSQL database, host or port gives an error that says what is missing",
    () =>
      Effect.gen(function* () {
        assert.match(
          yield* startOn(`${server.url}/nowhere`),
          /^the database failed \(database "nowhere" does not exist\)$/,
        )
        assert.match(
          yield* startOn("postgres://u:p@nosuchhost.invalid/d"),
          /^the database cannot be reached; check AUTHORITY_DATABASE_URL .*nosuchhost/,
        )
        assert.match(
          yield* startOn(`postgres://u:p@localhost:${yield* Effect.promise(freePort)}/d`),
          /^the database cannot be reached; check AUTHORITY_DATABASE_URL and the database server \(.*ECONNREFUSED.*\)$/,
        )
        assert.match(
          yield* startOn("postgres://u:p@/d?host=/nowhere"),
          /^the database cannot be reached; check .*\(connect ENOENT \/nowhere/,
        )
      }),
  )
})
