/**
 * Tests a database outage while requests are in flight: afterwards, each key must get its answer.
 */
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { figures, problemsOf } from "../../scripts/support/ledger.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import { folder, serve } from "../support/Program.ts"
import { newDatabaseOn, postgresDatabase, sqliteFile } from "../support/Stores.ts"
import { batch } from "../support/TestServer.ts"
import { request } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

/** The outage is a stopped server. */
const postgres = Effect.gen(function* () {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => Postgres.start({ durable: false })),
    ({ destroy }) => Effect.promise(destroy),
  )
  const url = yield* newDatabaseOn(server.url)
  return {
    url: Redacted.value(url),
    stores: postgresDatabase(url),
    goAway: Effect.promise(server.stop),
    comeBack: Effect.promise(server.start),
  }
})

/** The outage is another program's write lock, held for longer than a transaction waits. */
const sqlite = Effect.gen(function* () {
  const file = `${yield* folder}/authority.db`
  const stores = sqliteFile(file)
  yield* Effect.scoped(Layer.build(stores))
  const other = Context.get(yield* Layer.build(Sqlite.layer(file)), SqlClient.SqlClient)
  return {
    url: `sqlite:${file}`,
    stores,
    goAway: Effect.orDie(other`BEGIN IMMEDIATE`),
    comeBack: Effect.orDie(other`ROLLBACK`),
  }
})

/**
 * A hold that could not be released during the outage ends when its lease of 45 seconds is over.
 */
const patience = { AUTHORITY_REQUEST_TIMEOUT: "30s", AUTHORITY_PROVIDER_TIMEOUT: "25s" }

describe.each([
  ["a stopped PostgreSQL", postgres],
  ["a locked file of SQLite", sqlite],
] as const)("an outage of %s", (_, database) => {
  it.scopedLive(
    "after a database outage, every request that is repeated with its idempotency key is answered, and is charged once",
    () =>
      Effect.gen(function* () {
        const { comeBack, goAway, stores, url } = yield* database
        const context = yield* Layer.build(stores)
        const account = yield* Effect.provide(newAccountWith(100), context)
        const issued = yield* Context.get(context, ApiKeys).issue({ account })
        const books = Effect.provide(figures(account), context)
        const moz = yield* FakeMoz.make
        const { fault, release } = FakeVendor.held()
        const service = yield* serve(yield* folder, {
          AUTHORITY_DATABASE_URL: url,
          ...FakeMoz.settings(moz.url),
          ...patience,
        })
        const check = (host: string, name: string) =>
          request(
            service.url,
            batch(Redacted.value(issued.key), JSON.stringify({ urls: [host] }), {
              "idempotency-key": name,
            }),
          )
        const bought = Array.from({ length: 8 }, (_, i) => [`host-${i}.com`, `order-${i}`] as const)
        const known = Array.from({ length: 4 }, (_, i) => ["known.com", `known-${i}`] as const)
        const all = { concurrency: "unbounded" } as const
        assert.strictEqual((yield* check("known.com", "first")).status, 200)

        moz.always(fault)
        const inFlight = yield* Effect.fork(
          Effect.forEach(bought, ([host, name]) => check(host, name), all),
        )
        yield* eventually(
          "all requests hold their credits",
          Effect.map(books, ({ held }) => held === bought.length),
        )
        yield* goAway
        moz.always(undefined)
        release()
        const meanwhile = yield* Effect.fork(
          Effect.forEach(known, ([host, name]) => check(host, name), all),
        )
        const answers = Fiber.joinAll([inFlight, meanwhile])
        // Wait until all requests have failed, but no longer than clients usually wait.
        yield* Effect.timeoutOption(answers, "15 seconds")
        yield* comeBack
        for (const { status, text } of (yield* answers).flat()) {
          assert.include([200, 500, 503], status, text)
        }
        yield* Effect.forEach(
          [...bought, ...known],
          ([host, name]) =>
            Effect.repeat(Effect.delay(check(host, name), 200), {
              until: ({ status }) => status === 200,
            }),
          all,
        )
        // A repeated request may take over a hold's key just before the sweep ends that hold.
        yield* eventually(
          "no credits are held",
          Effect.map(books, ({ held }) => held === 0),
        )
        assert.deepInclude(yield* books, { charged: 1 + bought.length + known.length })
        assert.deepStrictEqual(yield* Effect.provide(problemsOf(account), context), [])
      }),
    120_000,
  )
})
