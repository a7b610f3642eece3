/** Connections to PostgreSQL servers with and without TLS, for each `sslmode`. */
import { execFileSync } from "node:child_process"
import { chownSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, beforeAll, describe, inject, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as PostgresClient from "../../src/database/Postgres.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import { newDatabaseOn } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { verb } from "../support/Verb.ts"

let server: Postgres.Server
const fileOf = (name: string) => join(server.data, name)

/** Makes a certificate and its key, with additional arguments for openssl. */
const certify = (name: string, subject: string, more: ReadonlyArray<string> = []) => {
  const files = ["-keyout", fileOf(`${name}.key`), "-out", fileOf(`${name}.crt`)]
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(" ")
  execFileSync(
    "openssl",
    ["req", "-x509", "-days", "2", "-subj", `/CN=${subject}`, ...key, ...files, ...more],
    { stdio: "pipe" },
  )
}

/** Makes a certificate that the authority has signed. */
const certifyByAuthority = (name: string, subject: string) => {
  const extensions = ["basicConstraints=critical,CA:FALSE", `subjectAltName=DNS:${subject}`]
  const added = extensions.flatMap((extension) => ["-addext", extension])
  certify(name, subject, ["-CA", fileOf("ca.crt"), "-CAkey", fileOf("ca.key"), ...added])
}

beforeAll(async () => {
  server = await Postgres.start({ durable: false })
  certify("ca", "the authority")
  certify("other", "another authority")
  certifyByAuthority("server", "localhost")
  certifyByAuthority("client", "certified")
  const { gid, uid } = statSync(server.data)
  for (const file of ["server.crt", "server.key", "ca.crt"]) chownSync(fileOf(file), uid, gid)
  const rules = readFileSync(fileOf("pg_hba.conf"), "utf8")
  writeFileSync(
    fileOf("pg_hba.conf"),
    `hostssl all certified all cert\nhostnossl all encrypted all reject\n${rules}`,
  )
  await Effect.runPromise(
    SqlClient.SqlClient.pipe(
      Effect.flatMap((sql) =>
        Effect.forEach(
          [
            "CREATE ROLE certified LOGIN",
            "CREATE ROLE encrypted LOGIN",
            "ALTER SYSTEM SET ssl = on",
            `ALTER SYSTEM SET ssl_ca_file = '${fileOf("ca.crt")}'`,
            "SELECT pg_reload_conf()",
          ],
          (statement) => sql.unsafe(statement),
        ),
      ),
      // ALTER SYSTEM cannot run in a transaction.
      Effect.provide(PgClient.layer({ url: Redacted.make(`${server.url}/postgres`) })),
    ),
  )
})

afterAll(() => server.destroy())

/**
 * Connects, and returns whether the server sees TLS. The host `0.0.0.0` has no known name, so it
 * counts as another machine although it is this one.
 */
const isEncrypted = (host: string, query: string, base = server.url) => {
  const url = new URL(`${base}/postgres?${query}`)
  url.hostname = host
  return Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly ssl: string }>`
      SELECT ssl::text AS ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`,
  ).pipe(
    Effect.map(([row]) => row?.ssl === "true"),
    Effect.provide(PostgresClient.layer(Redacted.make(url.href))),
  )
}

const refusal = (...args: Parameters<typeof isEncrypted>) =>
  Effect.map(Effect.flip(isEncrypted(...args)), ({ message }) => message)

const failed =
  /^TLS with the server failed; check the host, sslmode, sslrootcert, sslcert and sslkey in AUTHORITY_DATABASE_URL, /

describe("a PostgreSQL server with TLS", () => {
  it.effect.each([
    ["localhost", "", false],
    ["localhost", "sslmode=disable", false],
    ["0.0.0.0", "sslmode=disable", false],
    ["127.0.0.1", "sslmode=require", true],
    ["0.0.0.0", "sslmode=require", true],
    ["0.0.0.0", "sslmode=verify-ca&sslrootcert=ca", true],
    ["0.0.0.0", "sslmode=require&sslrootcert=ca", true],
    ["localhost", "sslmode=verify-full&sslrootcert=ca", true],
    ["localhost", "sslrootcert=ca", true],
  ] as const)("from %s with the parameters '%s', is TLS in use: %s", ([host, query, expected]) =>
    Effect.gen(function* () {
      const files = query.replace("=ca", `=${fileOf("ca.crt")}`)
      assert.strictEqual(yield* isEncrypted(host, files), expected)
    }),
  )

  it.effect.each([
    ["0.0.0.0", ""],
    ["localhost", "sslmode=verify-full"],
    ["localhost", "sslmode=verify-full&sslrootcert=other"],
    ["localhost", "sslmode=verify-ca&sslrootcert=other"],
    ["localhost", "sslmode=require&sslrootcert=other"],
    ["127.0.0.1", "sslmode=verify-full&sslrootcert=ca"],
  ] as const)("%s with the parameters '%s' is refused", ([host, query]) =>
    Effect.gen(function* () {
      const files = query.replace(/=(ca|other)/, (_, name) => `=${fileOf(`${name}.crt`)}`)
      assert.match(yield* refusal(host, files), failed)
    }),
  )

  it.effect("a role can log in with a client certificate", () =>
    Effect.gen(function* () {
      const base = server.url.replace("authority:authority", "certified")
      const own = `sslcert=${fileOf("client.crt")}&sslkey=${fileOf("client.key")}`
      const query = `sslmode=verify-full&sslrootcert=${fileOf("ca.crt")}`
      assert.isTrue(yield* isEncrypted("localhost", `${query}&${own}`, base))
      assert.match(yield* refusal("localhost", query, base), /client certificate/)
    }),
  )

  it.effect.each([
    "sslcert=client.crt&sslkey=server.key",
    "sslcert=client.crt&sslkey=pg_hba.conf",
    "sslcert=other.crt&sslkey=other.key",
  ])("the client certificate '%s' is refused with advice", (own) =>
    Effect.gen(function* () {
      const base = server.url.replace("authority:authority", "certified")
      const files = `sslrootcert=ca.crt&${own}`.replaceAll("=", `=${server.data}/`)
      assert.match(yield* refusal("localhost", files, base), failed)
    }),
  )

  it.effect("if the server requires TLS of a role, the error names sslmode", () =>
    Effect.gen(function* () {
      const base = server.url.replace("authority:authority", "encrypted")
      assert.match(
        yield* refusal("localhost", "sslmode=disable", base),
        /^the server refuses the login; check user, password and sslmode in AUTHORITY_DATABASE_URL/,
      )
    }),
  )

  it.scopedLive("the doctor says whether the certificate is verified", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const url = new URL(Redacted.value(yield* newDatabaseOn(server.url)))
      url.hostname = "localhost"
      const settings = (query: string) => ({ AUTHORITY_DATABASE_URL: `${url.href}?${query}` })
      yield* verb(cwd, ["account", "create", "acme"], settings(""))
      for (const [query, line] of [
        [
          `sslrootcert=${fileOf("ca.crt")}`,
          /ok +TLS: in use, and the certificate .* is verified\n/,
        ],
        ["sslmode=require", /ok +TLS: in use, and the certificate .* is not verified\n/],
      ] as const) {
        assert.match((yield* verb(cwd, ["doctor"], settings(query))).stdout, line)
      }
    }),
  )
})

describe("a PostgreSQL server without TLS", () => {
  it.effect.each([
    ["0.0.0.0", ""],
    ["localhost", "sslmode=require"],
    ["localhost", "sslmode=verify-full"],
  ] as const)("%s with the parameters '%s' is refused", ([host, query]) =>
    Effect.gen(function* () {
      assert.match(yield* refusal(host, query, inject("postgresUrl")), failed)
      assert.isFalse(yield* isEncrypted(host, "sslmode=disable", inject("postgresUrl")))
    }),
  )
})
