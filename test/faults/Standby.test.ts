/** Tests that a service does not use a PostgreSQL standby, which takes no writes. */
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { afterAll, beforeAll } from "vitest"
import * as PostgresClient from "../../src/database/Postgres.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import { charge, figures } from "../../scripts/support/ledger.ts"
import { folder, run, serve, start } from "../support/Program.ts"
import * as Proxy from "../../scripts/support/Proxy.ts"
import * as Standby from "../../scripts/support/Standby.ts"
import { newDatabaseOn, postgresDatabase } from "../support/Stores.ts"
import { batch } from "../support/TestServer.ts"
import { request } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

let pair: Standby.Pair
beforeAll(async () => {
  pair = await Standby.start({ durable: false, synchronous: true })
})
afterAll(() => pair.destroy())

/** Returns the URL of the same database on the standby. */
const onStandby = (url: Redacted.Redacted) => {
  const { port } = new URL(pair.standby.url)
  return Object.assign(new URL(Redacted.value(url)), { port }).href
}

/** Creates an empty database on the primary, and waits until the standby has it. */
const newDatabase = Effect.gen(function* () {
  const url = yield* newDatabaseOn(pair.primary.url)
  const copy = Layer.build(PostgresClient.layer(Redacted.make(onStandby(url))))
  yield* eventually("the standby has the database", Effect.isSuccess(Effect.scoped(copy)))
  return url
})

const Issued = Schema.parseJson(Schema.Struct({ key: Schema.String }))

/** Creates a database with the account `acme` and an API key of this account. */
const openAccount = Effect.gen(function* () {
  const url = yield* newDatabase
  const cwd = yield* folder
  const settings = { AUTHORITY_DATABASE_URL: Redacted.value(url) }
  yield* run(cwd, ["account", "create", "acme", "--credits", "100000"], settings)
  const { stdout } = yield* run(cwd, ["key", "create", "--account", "acme", "--json"], settings)
  const { key } = yield* Schema.decode(Issued)(stdout)
  return { cwd, key, settings, url }
})

describe("a failover to a standby that takes no writes yet", () => {
  it.scopedLive(
    "every request that is sent 10 seconds or more after the primary is back succeeds",
    () =>
      Effect.gen(function* () {
        const { cwd, key, url } = yield* openAccount
        const proxy = yield* Proxy.make(url)
        const service = yield* serve(cwd, { AUTHORITY_DATABASE_URL: Redacted.value(proxy.url) })
        const answers: Array<{ readonly at: number; readonly status: number }> = []
        let count = 0
        const client = Effect.gen(function* () {
          const at = yield* Clock.currentTimeMillis
          const body = `{"urls":["site-${count++}.example.com"]}`
          const { status } = yield* request(service.url, batch(key, body))
          answers.push({ at, status })
        })
        const load = yield* Effect.forkScoped(
          Effect.forEach(Array(8).keys(), () => Effect.forever(client), {
            concurrency: "unbounded",
          }),
        )
        const answered = Effect.suspend(() => {
          const before = answers.length
          const more = () => answers.slice(before).filter(({ status }) => status === 200)
          return eventually("requests are answered", () => more().length >= 50)
        })
        yield* answered

        proxy.turnTo(pair.standby.url)
        proxy.cut()
        yield* Effect.sleep("2 seconds")
        // The proxy leaves the connections to the standby open.
        proxy.turnTo(pair.primary.url)
        const back = yield* Clock.currentTimeMillis
        yield* Effect.sleep("11 seconds")
        yield* answered
        yield* Fiber.interrupt(load)

        const late = answers.filter(({ at, status }) => at >= back + 10_000 && status !== 200)
        assert.deepStrictEqual(late, [])
      }),
  )
})

describe("a connection to a server that takes no writes", () => {
  it.scopedLive("a transaction on a read-only connection is repeated on a new connection", () =>
    Effect.gen(function* () {
      const database = postgresDatabase(yield* newDatabase, { connections: 1 })
      yield* Effect.gen(function* () {
        const account = yield* newAccountWith(10)
        const sql = yield* SqlClient.SqlClient
        // The pool has a single connection, which it would reuse.
        yield* sql`SET default_transaction_read_only = on`
        yield* charge(account, 1)
        assert.strictEqual((yield* figures(account)).charged, 1)
      }).pipe(Effect.provide(database))
    }),
  )
})

describe("starting the service while the database server is a standby", () => {
  it.scopedLive(
    "if the database server is a PostgreSQL standby, the CLI verb serve waits for a primary",
    () =>
      Effect.gen(function* () {
        const { cwd, url } = yield* openAccount
        const proxy = yield* Proxy.make(url)
        proxy.turnTo(pair.standby.url)
        const settings = { AUTHORITY_PORT: "0", AUTHORITY_DATABASE_URL: Redacted.value(proxy.url) }
        const running = yield* start(cwd, ["serve"], settings)
        const output = () => running.stdout() + running.stderr()
        yield* Effect.sleep("3 seconds")
        assert.notMatch(output(), /Listening/)
        proxy.turnTo(pair.primary.url)
        yield* eventually("the service listens", () => output().includes("Listening"))
      }),
  )

  it.scopedLive(
    "opening a database on a PostgreSQL standby fails if no primary takes its place in time",
    () =>
      Effect.gen(function* () {
        const url = Redacted.make(onStandby(yield* newDatabase))
        const database = PostgresClient.layer(url, { primaryWithinMs: 1_000 })
        const { message } = yield* Effect.flip(Effect.scoped(Layer.build(database)))
        assert.match(message, /^the database is read-only; .+ \(the server is read-only\)$/)
      }),
  )
})
