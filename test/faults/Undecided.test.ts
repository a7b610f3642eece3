/** A database stops answering, or its answer to a COMMIT is lost. */
import { join } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PostgresClient from "../../src/database/Postgres.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import { start } from "../support/DatabaseService.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import * as Proxy from "../../scripts/support/Proxy.ts"
import { checked, knowing, succeeding } from "../support/ScriptedProvider.ts"
import { newDatabaseOn } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import {
  again,
  charged,
  isReplay,
  isUnavailable,
  isUndecided,
  post,
  suite,
} from "../support/undecidedSuite.ts"

let server: Postgres.Server

beforeAll(async () => {
  server = await Postgres.start({ durable: false })
}, 60_000)

afterAll(() => server.destroy())

const stoppedPostgres = Effect.gen(function* () {
  const thaw = Effect.sync(() => server.thaw())
  const url = yield* newDatabaseOn(server.url)
  return {
    client: PostgresClient.layer(url),
    freeze: Effect.sync(() => server.freeze()),
    thaw,
  }
})

/** The next COMMIT arrives at the server, but its answer is lost. */
const silentCommit = Effect.gen(function* () {
  const proxy = yield* Proxy.make(yield* newDatabaseOn(server.url))
  return {
    client: PostgresClient.layer(proxy.url, { silenceMs: 3_000 }),
    freeze: Effect.sync(() => proxy.doom("silence")),
    thaw: Effect.void,
  }
})

/** `freeze` takes the write lock of the file with another connection. */
const lockedSqlite = Effect.gen(function* () {
  const file = join(yield* temporaryFolder, "authority.db")
  const sql = Context.get(yield* Layer.build(Sqlite.layer(file)), SqlClient.SqlClient)
  return {
    client: Sqlite.layer(file),
    freeze: Effect.orDie(sql`BEGIN IMMEDIATE`),
    // ROLLBACK fails when no transaction is open.
    thaw: Effect.ignore(sql`ROLLBACK`),
  }
})

describe("a locked SQLite file", () => suite(lockedSqlite, { reads: true }))

describe("a frozen PostgreSQL", () => suite(stoppedPostgres, { reads: false }))

describe("a PostgreSQL whose answer to COMMIT is lost", () => suite(silentCommit, { reads: true }))

describe("a lost answer to COMMIT", () => {
  /** After the lost answer one transaction fails, so the service cannot look the COMMIT up. */
  const startOnLossy = Effect.gen(function* () {
    const proxy = yield* Proxy.make(yield* newDatabaseOn(server.url))
    let isLost = false
    const lose = Effect.sync(() => {
      proxy.doom("answer lost")
      isLost = true
    })
    const service = yield* start({
      database: PostgresClient.layer(proxy.url),
      provider: knowing(
        (page) => (page.startsWith("known") ? checked() : undefined),
        (targets) => Effect.zipRight(lose, succeeding(targets)),
      ).layer,
      transactions: {
        around: (transaction) =>
          Effect.suspend(() => {
            if (!isLost || !proxy.isFulfilled()) return transaction
            isLost = false
            const cause = Object.assign(new Error("as scripted"), { code: "57014" })
            // The ledger's transactions fail with this error, but the generic type does not show it.
            return Effect.fail(new SqlError({ cause })) as never
          }),
      },
    })
    return { ...service, lose }
  })

  it.scopedLive("the answer to a request says whether its charge may have been committed", () =>
    Effect.gen(function* () {
      const service = yield* startOnLossy
      for (const page of ["known.example.com", "bought.example.com"]) {
        const client = yield* service.newClient(10)
        assert.strictEqual((yield* post(service, client, "localhost")).status, 200)
        const lose = page.startsWith("known") ? service.lose : Effect.void
        yield* lose
        const unnamed = yield* post(service, client, page)
        isUndecided(unnamed)
        yield* lose
        const request = post(service, client, page, "a")
        const named = yield* request
        isUnavailable(named)
        assert.include(named.text, "the same Idempotency-Key")
        assert.isTrue(isReplay(yield* again(request)))
        assert.deepStrictEqual(
          yield* charged(service, client),
          [unnamed, named].map(({ headers }) => String(headers["x-request-id"])),
        )
      }
    }),
  )
})
