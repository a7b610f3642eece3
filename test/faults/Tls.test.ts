/** Connections to PostgreSQL with and without TLS, for each `sslmode` of libpq. */
import { chownSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { afterAll, beforeAll } from "vitest"
import * as PostgresClient from "../../src/sql/Postgres.ts"
import * as certificates from "../support/certificates.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { eventually } from "../../scripts/support/eventually.ts"

let server: Postgres.Server
beforeAll(async () => {
  server = await Postgres.start({ durable: false })
}, 60_000)
afterAll(() => server.destroy())

const write = (name: string, text: string) => {
  const path = join(server.data, name)
  writeFileSync(path, text, { mode: 0o600 })
  const { gid, uid } = statSync(server.data)
  chownSync(path, uid, gid)
}

/** Returns whether the server sees TLS on a new connection. */
const isEncrypted = (parameters: string, host = "127.0.0.1") => {
  const url = new URL(`${server.url}/postgres?${parameters}`)
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

/** For each sslmode that verifies no certificate: is the connection encrypted, or "refused"? */
const encrypted = Effect.suspend(() =>
  Effect.forEach(["disable", "allow", "prefer", "require"], (mode) =>
    Effect.orElseSucceed(isEncrypted(`sslmode=${mode}`), () => "refused"),
  ),
)

/** Makes the server accept only TLS, or only unencrypted connections. */
const letIn = (kind: "hostssl" | "hostnossl") => {
  write("pg_hba.conf", `${kind} all all 127.0.0.1/32 password\n`)
  process.kill(Postgres.serverIn(server.data), "SIGHUP")
}

describe("a PostgreSQL server without TLS", () => {
  it.scopedLive(
    "a connection to a PostgreSQL server without TLS is unencrypted if sslmode is disable, allow or prefer, and fails if sslmode is require",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* encrypted, [false, false, false, "refused"])
        assert.isFalse(yield* isEncrypted(""))
      }),
  )
})

describe("a PostgreSQL server with TLS", () => {
  it.scopedLive(
    "a connection to a PostgreSQL server with TLS is encrypted if sslmode is prefer or require, and unencrypted if sslmode is disable or allow",
    () =>
      Effect.gen(function* () {
        write("server.crt", certificates.certificate)
        write("server.key", certificates.key)
        write("postgresql.auto.conf", "ssl = on\n")
        process.kill(Postgres.serverIn(server.data), "SIGHUP")
        yield* eventually("the server has TLS", isEncrypted("sslmode=prefer"))
        assert.deepStrictEqual(yield* encrypted, [false, false, true, true])
        assert.isTrue(yield* isEncrypted(""))
      }),
  )

  it.scopedLive(
    "the PostgreSQL server's certificate is verified as sslmode and sslrootcert require",
    () =>
      Effect.gen(function* () {
        const file = join(yield* temporaryFolder, "authority.crt")
        writeFileSync(file, certificates.authority)
        for (const mode of ["require", "verify-ca"]) {
          assert.isTrue(yield* isEncrypted(`sslmode=${mode}&sslrootcert=${file}`))
        }
        assert.isTrue(yield* isEncrypted(`sslmode=verify-full&sslrootcert=${file}`, "localhost"))
        assert.match(yield* refusal(`sslmode=verify-full&sslrootcert=${file}`), /altnames/)
        const system = "sslmode=verify-full&sslrootcert=system"
        assert.match(yield* refusal(system, "localhost"), /certificate/)
        assert.match(yield* refusal("sslmode=verify-ca&sslrootcert=/nowhere"), /ENOENT/)
      }),
  )

  it.scopedLive(
    "sslmode=allow switches to TLS on a PostgreSQL server that refuses unencrypted connections",
    () =>
      Effect.gen(function* () {
        letIn("hostssl")
        yield* eventually(
          "unencrypted connections are refused",
          Effect.isFailure(isEncrypted("sslmode=disable")),
        )
        assert.deepStrictEqual(yield* encrypted, ["refused", true, true, true])
      }),
  )

  it.scopedLive(
    "sslmode=prefer switches to no encryption on a PostgreSQL server that refuses TLS",
    () =>
      Effect.gen(function* () {
        letIn("hostnossl")
        yield* eventually(
          "TLS connections are refused",
          Effect.isFailure(isEncrypted("sslmode=require")),
        )
        assert.deepStrictEqual(yield* encrypted, [false, false, false, "refused"])
      }),
  )
})
