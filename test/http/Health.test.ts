/** Tests what `/health/ready` and `/metrics` report while a part of the service fails. */
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { AccountName } from "../../src/accounts/Account.ts"
import { Health } from "../../src/database/Health.ts"
import * as Prometheus from "../../src/http/telemetry/Prometheus.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Credits, creditsOf } from "../../src/ledger/Credits.ts"
import * as Migrations from "../../src/database/migrations/migrate.ts"
import * as memory from "../support/memory.ts"
import * as Composed from "../../src/providers/Composed.ts"
import * as Fake from "../../src/providers/Fake.ts"
import type { Vendor } from "../../src/providers/Vendor.ts"
import * as Sandbox from "../../src/providers/vendors/Sandbox.ts"
import { StoreFailure } from "../../src/database/StoreFailure.ts"
import * as FakeDataForSeo from "../support/FakeDataForSeo.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { batch, start } from "../support/TestServer.ts"

const ready = { path: "/health/ready" }

const bought = ({ layer }: { readonly layer: Layer.Layer<Vendor> }) =>
  Composed.decorated(layer, {
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
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(JSON.parse(text), {
        success: true,
        status: "ready",
        parts: {
          server: "listening",
          database: `SQLite, schema ${Migrations.newest}`,
          writes: "working",
          migrations: "done",
          circuits: {},
        },
      })
    }),
  )

  it.scopedLive("/health/ready reports an open circuit while cached figures are still served", () =>
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

  it.scopedLive("/health/ready reports a pause that a vendor asked for, until it ends", () =>
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

describe("a chain of two vendors", () => {
  it.scopedLive(
    "with an exhausted vendor in a chain, no URL fails, and the vendor is asked again when its period ends",
    () =>
      Effect.gen(function* () {
        const [seo, moz] = [yield* FakeDataForSeo.make, yield* FakeMoz.make]
        const provider = Composed.chain([bought(seo), bought(moz)])
        const { check, log, send } = yield* start({ provider })
        const circuits = Effect.map(send(ready), ({ status, text }) => {
          assert.strictEqual(status, 200)
          return JSON.parse(text).parts.circuits
        })
        const gauge = Effect.map(
          send({ path: "/metrics" }),
          ({ text }) =>
            /authority_provider_exhausted\{provider="dataforseo"\} (\d)/.exec(text)?.[1],
        )
        let names = 0
        const checkMany = Effect.forEach(
          Arr.range(1, 10),
          () =>
            Effect.map(check([`${names++}.example.com`, `${names++}.example.org/a`]), ({ text }) =>
              assert.lengthOf(JSON.parse(text).data.successUrls, 2, text),
            ),
          { concurrency: "unbounded" },
        )
        yield* checkMany
        assert.strictEqual(moz.rows(), 0)

        seo.always(FakeVendor.answer(402, `{"status_code":40210}`, { "retry-after": "4" }))
        yield* checkMany
        const asked = seo.calls.length
        for (let i = 0; i < 2; i++) yield* checkMany
        assert.strictEqual(seo.calls.length, asked)
        assert.strictEqual(moz.rows(), 60)
        assert.deepStrictEqual(yield* circuits, {
          dataforseo: "exhausted: its quota is used up",
          moz: "closed",
        })
        assert.strictEqual(yield* gauge, "1")

        yield* Effect.sleep("4 seconds")
        yield* checkMany
        assert.isAbove(seo.calls.length, asked)
        seo.always(undefined)
        yield* Effect.sleep("4 seconds")
        yield* checkMany
        const rows = moz.rows()
        yield* checkMany
        assert.strictEqual(moz.rows(), rows)
        assert.deepStrictEqual(yield* circuits, { dataforseo: "closed", moz: "closed" })
        assert.strictEqual(yield* gauge, "0")
        assert.lengthOf(
          log.filter((line) => line.includes("A provider is exhausted")),
          1,
        )
        assert.isEmpty(log.filter((line) => line.includes("A call to the provider failed")))
      }),
  )
})

it.scoped("/metrics reads its sums at most once in ten seconds", () =>
  Effect.gen(function* () {
    let reads = 0
    const ledger = Layer.effect(
      CreditLedger,
      Effect.map(CreditLedger, (ledger) => ({
        ...ledger,
        totals: () => Effect.sync(() => ({ held: creditsOf(++reads), accountsBelow: [] })),
      })),
    ).pipe(Layer.provide(memory.creditLedger({ lease: "1 minute" })))
    const scrape = yield* Prometheus.make.pipe(Effect.provide([ledger, Fake.make().layer]))
    assert.include(yield* scrape, "authority_credits_held 1\n")
    yield* TestClock.adjust("9 seconds")
    assert.include(yield* scrape, "authority_credits_held 1\n")
    yield* TestClock.adjust("1 seconds")
    assert.include(yield* scrape, "authority_credits_held 2\n")
  }),
)
