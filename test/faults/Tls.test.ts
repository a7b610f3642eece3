/** Connections to PostgreSQL with TLS and without, as libpq's `sslmode` says. */
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
import { temporaryFolder } from "../support/Stores.ts"
import { eventually } from "../../scripts/support/Wire.ts"

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

/** Whether the server sees TLS on a connection of ours. */
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

/** What becomes of the modes that verify nothing. */
const encrypted = Effect.suspend(() =>
  Effect.forEach(["disable", "allow", "prefer", "require"], (mode) =>
    Effect.orElseSucceed(isEncrypted(`sslmode=${mode}`), () => "refused"),
  ),
)

/** Lets clients in by TLS alone, or in plain alone. */
const letIn = (kind: "hostssl" | "hostnossl") => {
  write("pg_hba.conf", `${kind} all all 127.0.0.1/32 password\n`)
  process.kill(Postgres.serverIn(server.data), "SIGHUP")
}

describe("a server without TLS", () => {
  it.scopedLive("is spoken with in plain, unless TLS is required", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* encrypted, [false, false, false, "refused"])
      assert.isFalse(yield* isEncrypted(""))
    }),
  )
})

describe("a server with TLS", () => {
  it.scopedLive("is spoken with by it, where that is preferred or required", () =>
    Effect.gen(function* () {
      write("server.crt", certificates.certificate)
      write("server.key", certificates.key)
      write("postgresql.auto.conf", "ssl = on\n")
      process.kill(Postgres.serverIn(server.data), "SIGHUP")
      yield* eventually("it has TLS", isEncrypted("sslmode=prefer"))
      assert.deepStrictEqual(yield* encrypted, [false, false, true, true])
      assert.isTrue(yield* isEncrypted(""))
    }),
  )

  it.scopedLive("is verified as far as it is asked for", () =>
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

  it.scopedLive("that lets in nobody without it is found by allow", () =>
    Effect.gen(function* () {
      letIn("hostssl")
      yield* eventually("plain is refused", Effect.isFailure(isEncrypted("sslmode=disable")))
      assert.deepStrictEqual(yield* encrypted, ["refused", true, true, true])
    }),
  )

  it.scopedLive("that lets in nobody with it is found by prefer", () =>
    Effect.gen(function* () {
      letIn("hostnossl")
      yield* eventually("TLS is refused", Effect.isFailure(isEncrypted("sslmode=require")))
      assert.deepStrictEqual(yield* encrypted, [false, false, false, "refused"])
    }),
  )
})
