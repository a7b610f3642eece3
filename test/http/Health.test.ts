/** What `/health/ready` reports while a part of the service fails. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { AccountName } from "../../src/accounts/Account.ts"
import { Health } from "../../src/database/Health.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as Migrations from "../../src/database/migrations/Migrations.ts"
import * as memory from "../support/memory.ts"
import * as Composed from "../../src/providers/Composed.ts"
import * as Sandbox from "../../src/providers/vendors/Sandbox.ts"
import { StoreFailure } from "../../src/database/StoreFailure.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { batch, start } from "../support/TestServer.ts"

const ready = { path: "/health/ready" }

const bought = (moz: Effect.Effect.Success<typeof FakeMoz.make>) =>
  Composed.decorated(moz.layer, {
    timeout: "10 seconds",
    concurrency: 4,
    cache: { ttl: Duration.hours(24), capacity: 1000 },
  }).pipe(Layer.provide([memory.metricsCache, memory.costs]))

const tell = (health: Health["Type"]["stores"]) =>
  Effect.gen(function* () {
    const { send } = yield* start({
      health: Layer.succeed(Health, { stores: health, write: Effect.void }),
    })
    const [{ status, text }, live] = [yield* send(ready), yield* send({ path: "/health/live" })]
    assert.strictEqual(live.status, 200)
    return { status, ...JSON.parse(text) }
  })

describe("/health/ready", () => {
  it.scopedLive("/health/ready reports the state of each part of the service", () =>
    Effect.gen(function* () {
      const { send } = yield* start()
      const { status, text } = yield* send(ready)
      assert.deepStrictEqual(
        [status, JSON.parse(text)],
        [
          200,
          {
            success: true,
            status: "ready",
            parts: {
              server: "listening",
              database: `SQLite, schema ${Migrations.newest}`,
              writes: "working",
              migrations: "done",
              circuits: {},
            },
          },
        ],
      )
    }),
  )

  it.scopedLive("/health/ready reports an open circuit, while cached figures still answer", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      const { accounts, books, check, keys, ledger, log, send } = yield* start({
        provider: bought(moz),
      })
      const { id: account } = yield* accounts.create(AccountName.make("globex"))
      yield* ledger.grant(account, Credits.make(100), null)
      const other = Redacted.value((yield* keys.issue({ account })).key)
      const circuits = Effect.map(send(ready), ({ status, text }) => {
        assert.strictEqual(status, 200)
        return JSON.parse(text).parts.circuits
      })
      yield* check(["known.example.com"])
      assert.deepStrictEqual(yield* circuits, { moz: "closed" })

      moz.always(FakeVendor.answer(403, "no"))
      for (let i = 0; i < 14; i++) yield* check([`host-${i}.example.com`])
      assert.deepStrictEqual(yield* circuits, { moz: "closed" })
      yield* send(batch(other, JSON.stringify({ urls: ["host.example.com"] })))
      assert.deepStrictEqual(yield* circuits, { moz: "open: 15 calls in a row have failed" })
      const calls = moz.calls.length
      const { status, text } = yield* check(["known.example.com", "other.example.com"])
      assert.strictEqual(status, 200)
      const { data } = JSON.parse(text)
      assert.strictEqual(data.successUrls[0].url, "known.example.com")
      assert.deepStrictEqual(data.failedUrls, [
        { url: "other.example.com", reason: "PROVIDER_ERROR" },
      ])
      assert.strictEqual(moz.calls.length, calls, "the vendor is not called")
      assert.deepStrictEqual((yield* books).charged, 2)
      assert.isEmpty(log.filter((line) => line.includes("health")))
    }),
  )

  it.scopedLive("/health/ready reports the pause that a vendor has asked for, until its end", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      const { check, send } = yield* start({ provider: bought(moz), requestTimeout: "500 millis" })
      const circuits = Effect.map(send(ready), ({ text }) => JSON.parse(text).parts.circuits)
      moz.always(FakeVendor.throttled("2"))
      yield* check(["a.example.com"])
      assert.deepStrictEqual(yield* circuits, { moz: "paused: the provider asked for a pause" })
      yield* Effect.sleep("2 seconds")
      assert.deepStrictEqual(yield* circuits, { moz: "closed" })
    }),
  )

  it.scopedLive("/health/ready reports the circuit of each vendor in a chain", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      const { send } = yield* start({ provider: Composed.chain([bought(moz), Sandbox.layer]) })
      const { text } = yield* send(ready)
      assert.deepStrictEqual(JSON.parse(text).parts.circuits, { moz: "closed" })
    }),
  )

  const trouble = "no commit in the last 10 seconds: the disk is full"
  const state = { isMigrated: true, trouble: undefined }

  it.scopedLive.each<[name: string, stores: Health["Type"]["stores"], parts: object]>([
    [
      "the database does not answer",
      Effect.fail(new StoreFailure({ message: "gone" })),
      { database: "unreachable", writes: "unknown", migrations: "unknown" },
    ],
    [
      "the database lacks the program's tables",
      Effect.succeed({ ...state, description: "an old one", isMigrated: false }),
      { database: "an old one", migrations: "missing" },
    ],
    [
      "no recent commit has succeeded",
      Effect.succeed({ ...state, description: "a full one", trouble }),
      { writes: trouble, migrations: "done" },
    ],
  ])("/health/ready is 503 when %s", ([, stores, parts]) =>
    Effect.gen(function* () {
      const answer = yield* tell(stores)
      assert.deepInclude(answer, { status: 503, success: false })
      assert.deepInclude(answer.parts, parts)
    }),
  )
})
