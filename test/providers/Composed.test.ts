import { assert, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as TestClock from "effect/TestClock"
import { AccountId } from "../../src/accounts/Account.ts"
import * as AuthorityCheck from "../../src/check/AuthorityCheck.ts"
import * as Batch from "../../src/check/Batch.ts"
import * as Balance from "../../src/ledger/Balance.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Deadline } from "../../src/check/Deadline.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as memory from "../support/memory.ts"
import { MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import { RequestId } from "../../src/check/RequestId.ts"
import { Vendor } from "../../src/providers/Vendor.ts"
import * as Composed from "../../src/providers/Composed.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { context, tags, targets } from "../support/lookup.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"
import { runs } from "../support/properties.ts"

const options: Composed.Options = {
  timeout: "10 seconds",
  concurrency: 4,
  cache: { ttl: Duration.hours(24), capacity: 1000 },
}

const bought = (vendor: Vendor["Type"]) =>
  Composed.decorated(Layer.succeed(Vendor, vendor), options)

/** The use case with a chain of providers, a memory ledger and a memory cache. */
const serviceOver = (...vendors: Arr.NonEmptyArray<Vendor["Type"]>) =>
  AuthorityCheck.layer({ price: Credits.make(1) }).pipe(
    Layer.provide(Composed.chain(Arr.map(vendors, (vendor) => bought(vendor)))),
    Layer.provideMerge(memory.ledgerAlone({ lease: "1 minute" })),
    Layer.provide([memory.metricsCache, memory.costs]),
  )

const accounts = ["a", "b", "c"].map((id) => AccountId.make(id))
const [account = AccountId.make("")] = accounts

let requests = 0
const check = (urls: ReadonlyArray<string>, by = account) =>
  Effect.flatMap(AuthorityCheck.AuthorityCheck, (service) =>
    service.check({
      accountId: by,
      requestId: RequestId.make(`request-${requests++}`),
      ...Batch.parse(urls),
    }),
  ).pipe((check) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.provideService(check, Deadline, now + 30_000),
    ),
  )

const grantAll = Effect.flatMap(CreditLedger, (ledger) =>
  Effect.forEach(accounts, (id) => ledger.grant(id, Credits.make(100_000), null)),
)

it.scopedLive("400 concurrent requests for 40 hosts buy 40 rows from Moz in at most 8 calls", () =>
  Effect.gen(function* () {
    const moz = yield* FakeMoz.make
    const vendor = Context.get(yield* Layer.build(moz.layer), Vendor)
    yield* Effect.gen(function* () {
      yield* grantAll
      const reports = yield* Effect.forEach(
        Arr.makeBy(400, (i) => `host-${i % 40}.example.com`),
        (url) => check([url]),
        { concurrency: "unbounded" },
      )
      assert.isTrue(reports.every(({ creditsUsed }) => Number(creditsUsed) === 1))
      assert.strictEqual(moz.rows(), 40)
      assert.isAtMost(moz.calls.length, 8)
      const { balance } = yield* CreditLedger
      assert.containSubset(yield* balance(account), { charged: 400, held: 0 })
    }).pipe(Effect.provide(serviceOver(vendor)))
  }),
)

it.scoped("a chain of vendors caches the figures of each vendor separately", () =>
  Effect.gen(function* () {
    const first = ScriptedVendor.make({ name: "first" })
    const second = ScriptedVendor.make({ name: "second" })
    const built = yield* Layer.build(
      Composed.chain([bought(first.vendor), bought(second.vendor)]).pipe(
        Layer.provide([memory.metricsCache, memory.costs]),
      ),
    )
    const { lookup } = Context.get(built, MetricsProvider)
    const asked = Effect.gen(function* () {
      const fiber = yield* Effect.fork(lookup(targets("example.com"), context()))
      yield* TestClock.adjust("1 seconds")
      return tags(yield* fiber)
    })
    first.script(ScriptedVendor.fails("Refused"))
    assert.deepStrictEqual(yield* asked, ["ok"])
    // Only the second vendor's figures are cached, so the first vendor is called again.
    assert.deepStrictEqual(yield* asked, ["ok"])
    assert.deepStrictEqual([first.calls.length, second.calls.length], [2, 1])
  }),
)

it.scoped(
  "figures that were bought for an interrupted request are cached for the next request",
  () =>
    Effect.gen(function* () {
      const vendor = ScriptedVendor.make()
      vendor.always(ScriptedVendor.after("1 second"))
      yield* Effect.gen(function* () {
        yield* grantAll
        const { balance } = yield* CreditLedger
        const leaves = yield* Effect.fork(check(["example.com"]))
        yield* TestClock.adjust("500 millis")
        yield* Fiber.interrupt(leaves)
        yield* TestClock.adjust("1 second")
        assert.containSubset(yield* balance(account), { charged: 0, held: 0 })
        assert.strictEqual((yield* check(["example.com"])).creditsUsed, 1)
        assert.lengthOf(vendor.calls, 1)
      }).pipe(Effect.provide(serviceOver(vendor.vendor)))
    }),
)

const step = FastCheck.oneof(
  FastCheck.nat(12_000).map((ms) => ScriptedVendor.after(ms)),
  FastCheck.constantFrom<ScriptedVendor.Step>(
    ScriptedVendor.right,
    ScriptedVendor.hang,
    ScriptedVendor.bug,
    ScriptedVendor.short,
    ScriptedVendor.lacks((page) => page.includes("3")),
    ScriptedVendor.fails("Throttled", Duration.seconds(8)),
    ScriptedVendor.after("9 seconds", ScriptedVendor.fails("Unreachable")),
    ScriptedVendor.fails("Unavailable"),
    ScriptedVendor.fails("Refused"),
    ScriptedVendor.fails("Malformed"),
  ),
)

const request = FastCheck.record({
  by: FastCheck.constantFrom(...accounts),
  hosts: FastCheck.array(FastCheck.nat(9), { minLength: 1, maxLength: 6 }),
  at: FastCheck.nat(40_000),
  leavesAfter: FastCheck.option(FastCheck.nat(35_000)),
})

it.effect.prop(
  "each URL gets an outcome in time and no hold stays open, whatever the vendor and the clients do",
  {
    script: FastCheck.array(step, { maxLength: 20 }),
    batchSize: FastCheck.integer({ min: 1, max: 5 }),
    clients: FastCheck.array(request, { minLength: 1, maxLength: 12 }),
  },
  ({ batchSize, clients, script }) =>
    Effect.gen(function* () {
      const vendor = ScriptedVendor.make({ name: "random", batchSize })
      vendor.script(...script)
      yield* Effect.gen(function* () {
        yield* grantAll
        const { balance } = yield* CreditLedger
        const fibers = yield* Effect.forEach(clients, ({ at, by, hosts, leavesAfter }) => {
          const urls = hosts.map((host) => `host-${host}.example.com`)
          const asking = check(urls, by).pipe(
            Effect.timed,
            Effect.tap(([took, report]) =>
              Effect.sync(() => {
                assert.isAtMost(Duration.toMillis(took), 30_000)
                assert.deepStrictEqual(report.urls, urls)
              }),
            ),
            Effect.map(([, { creditsUsed }]) => ({ by, creditsUsed })),
          )
          const staying =
            leavesAfter === null ? asking : Effect.raceFirst(asking, Effect.sleep(leavesAfter))
          return Effect.fork(Effect.delay(staying, at))
        })
        yield* TestClock.adjust("3 minutes")
        const reports = yield* Fiber.join(Fiber.all(fibers))
        for (const id of accounts) {
          const books = yield* balance(id)
          const charged = reports.flatMap((report) =>
            report?.by === id ? [report.creditsUsed] : [],
          )
          assert.strictEqual(books.held, 0)
          assert.isAtLeast(
            books.charged,
            charged.reduce((a, b) => a + b, 0),
          )
          assert.strictEqual(Balance.available(books), books.granted - books.charged)
        }
        const waiting = Metric.gauge("authority_provider_waiting", {
          description: "targets that wait to be sent",
        }).pipe(Metric.tagged("provider", "random"))
        assert.strictEqual((yield* Metric.value(waiting)).value, 0)
      }).pipe(Effect.provide(serviceOver(vendor.vendor)))
    }).pipe(Effect.scoped),
  { fastCheck: { numRuns: runs(5) } },
)
