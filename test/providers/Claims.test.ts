/** Replicas that share a store buy the figures of a target once. */
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { AccountId, CurrentAccount } from "../../src/Account.ts"
import { Deadline } from "../../src/Deadline.ts"
import { Freshness } from "../../src/Freshness.ts"
import * as MemoryPurchases from "../../src/memory/Purchases.ts"
import { MetricsCache } from "../../src/MetricsCache.ts"
import { MetricsProvider } from "../../src/MetricsProvider.ts"
import type { Outcome } from "../../src/Metrics.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { Purchases } from "../../src/Purchases.ts"
import { ClaimTime } from "../../src/sql/claims.ts"
import * as SqlMetricsCache from "../../src/sql/MetricsCache.ts"
import * as Sqlite from "../../src/sql/Sqlite.ts"
import { StoreFailure } from "../../src/StoreFailure.ts"
import { targets } from "../support/lookup.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"
import { migrated } from "../support/Stores.ts"

const { after, fails, lacks } = ScriptedVendor

/** A database with claims, whose clock is the one of the test. */
const makeDatabase = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const database = yield* Layer.build(migrated(Sqlite.layer(":memory:")))
  const store = Layer.build(SqlMetricsCache.layer).pipe(
    Effect.provide(database),
    Effect.provideService(ClaimTime, () => () => String(clock.unsafeCurrentTimeMillis())),
    Effect.map((context) => Context.get(context, MetricsCache)),
  )
  return { store }
})

/** A replica of the service, whose vendor has a timeout of one second. */
const replicaOn = (
  store: MetricsCache["Type"],
  vendor: ReturnType<typeof ScriptedVendor.make>,
  options: Partial<Composed.Options> = {},
  purchases: Layer.Layer<Purchases> = MemoryPurchases.layer,
) =>
  Layer.build(
    Composed.decorated(Layer.succeed(MetricsProvider, vendor.provider), {
      timeout: "1 second",
      concurrency: 1,
      cache: { ttl: Duration.days(1), capacity: 100 },
      ...options,
    }).pipe(Layer.provide([Layer.succeed(MetricsCache, store), purchases])),
  ).pipe(
    Effect.map((context) => {
      const { lookup } = Context.get(context, MetricsProvider)
      return (...urls: ReadonlyArray<string>) => Effect.fork(lookup(targets(...urls)))
    }),
  )

/** Two replicas on one database, with one vendor. */
const setUp = Effect.gen(function* () {
  const { store } = yield* makeDatabase
  const vendor = ScriptedVendor.make()
  const [one, other] = [yield* store, yield* store]
  return {
    vendor,
    store,
    one: yield* replicaOn(one, vendor),
    other: yield* replicaOn(other, vendor),
  }
})

const summary = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map((outcome) =>
    outcome._tag === "Checked" ? (outcome.source ?? "bought") : outcome.cause,
  )

const outcomesOf = (fiber: Fiber.Fiber<ReadonlyArray<Outcome>, unknown>) =>
  Effect.map(Fiber.join(fiber), summary)

/** Lets time pass in small steps, because one step wakes everybody at its end. */
const pass = (ms: number) => Effect.repeatN(TestClock.adjust("50 millis"), Math.ceil(ms / 50) - 1)

const [aPage, bPage, cPage] = ["a.example.com", "b.example.com", "c.example.com"]

describe("claims", () => {
  it.scoped(
    "a replica waits for the figures that another one is buying, and buys only the rest",
    () =>
      Effect.gen(function* () {
        const { one, other, vendor } = yield* setUp
        vendor.script(after("900 millis"))
        const first = yield* one(aPage, bPage)
        yield* pass(100)
        const second = yield* other(bPage, cPage)
        yield* pass(2_000)
        assert.deepStrictEqual(yield* outcomesOf(first), ["bought", "bought"])
        assert.deepStrictEqual(yield* outcomesOf(second), ["known", "bought"])
        assert.deepStrictEqual(vendor.calls, [
          ["a.example.com/", "b.example.com/"],
          ["c.example.com/"],
        ])
      }),
  )

  it.scoped("many requests to two replicas buy each target once", () =>
    Effect.gen(function* () {
      const { one, other, vendor } = yield* setUp
      vendor.always(after("300 millis"))
      const asked = yield* Effect.forEach(Arr.range(0, 79), (i) =>
        Effect.zipLeft(
          (i % 2 === 0 ? one : other)(`${i % 20}.example.com`, `${(i * 7) % 20}.example.com`),
          TestClock.adjust("5 millis"),
        ),
      )
      yield* pass(10_000)
      const outcomes = yield* Effect.forEach(asked, Fiber.join)
      assert.isTrue(outcomes.flat().every(({ _tag }) => _tag === "Checked"))
      assert.lengthOf(vendor.calls.flat(), 20)
    }),
  )

  it.scoped("a replica that dies in a call delays the others by its lease", () =>
    Effect.gen(function* () {
      const { one, store, vendor } = yield* setUp
      const dead = yield* store
      yield* dead.claims?.take("scripted", ["a.example.com/"], 3000) ?? Effect.dieMessage("none")
      const asked = yield* one(aPage)
      yield* pass(2_900)
      assert.deepStrictEqual(vendor.calls, [])
      yield* pass(400)
      assert.deepStrictEqual(yield* outcomesOf(asked), ["bought"])
      assert.lengthOf(vendor.calls, 1)
    }),
  )

  it.scoped("a call with retries keeps its claims for longer than the lease", () =>
    Effect.gen(function* () {
      const { one, other, vendor } = yield* setUp
      const slow = after("900 millis", fails("Unavailable", Duration.seconds(2)))
      vendor.script(slow, slow, slow)
      const first = yield* one(aPage)
      yield* pass(5_000)
      const second = yield* other(aPage)
      yield* pass(10_000)
      assert.deepStrictEqual(yield* outcomesOf(first), ["bought"])
      assert.deepStrictEqual(yield* outcomesOf(second), ["known"])
      assert.lengthOf(vendor.calls, 4)
    }),
  )

  it.scoped("a target without figures is free for other replicas after the call", () =>
    Effect.gen(function* () {
      const { one, other, vendor } = yield* setUp
      vendor.script(
        after(
          "500 millis",
          lacks((page) => page === "a.example.com/"),
        ),
      )
      const first = yield* one(aPage, bPage)
      yield* pass(100)
      const second = yield* other(aPage)
      yield* pass(650)
      assert.deepStrictEqual(yield* outcomesOf(first), ["failed", "bought"])
      assert.deepStrictEqual(yield* outcomesOf(second), ["bought"])
    }),
  )

  it.scoped("a failed call for two accounts is repeated for each of them without a wait", () =>
    Effect.gen(function* () {
      const { one, vendor } = yield* setUp
      vendor.script(fails("Rejected"))
      const by = (id: string) => Effect.provideService(CurrentAccount, AccountId.make(id))
      const first = yield* by("a")(one(aPage))
      const second = yield* by("b")(one(bPage))
      yield* pass(50)
      assert.deepStrictEqual(yield* outcomesOf(first), ["bought"])
      assert.deepStrictEqual(yield* outcomesOf(second), ["bought"])
      assert.lengthOf(vendor.calls, 3)
    }),
  )

  it.scoped(
    "figures of another replica do not answer a client that accepts only younger ones",
    () =>
      Effect.gen(function* () {
        const { one, other, vendor } = yield* setUp
        yield* one(aPage)
        yield* pass(1_000)
        const young = yield* Effect.provideService(other(aPage), Freshness, 500)
        const old = yield* other(aPage)
        yield* pass(1_000)
        assert.deepStrictEqual(yield* outcomesOf(young), ["bought"])
        assert.deepStrictEqual(yield* outcomesOf(old), ["known"])
        assert.lengthOf(vendor.calls, 2)
      }),
  )

  it.scoped(
    "a request ends at its deadline while another replica buys, and nobody buys after it",
    () =>
      Effect.gen(function* () {
        const { one, store, vendor } = yield* setUp
        const dead = yield* store
        yield* dead.claims?.take("scripted", ["a.example.com/"], 4000) ?? Effect.dieMessage("none")
        const asked = yield* Effect.provideService(one(aPage), Deadline, 2000)
        yield* pass(2_000)
        assert.deepStrictEqual(yield* outcomesOf(asked), ["timeout"])
        yield* pass(4000)
        assert.deepStrictEqual(vendor.calls, [])
      }),
  )

  it.scoped("without answers from the store, a replica buys without claims", () =>
    Effect.gen(function* () {
      const { store } = yield* makeDatabase
      const fine = yield* store
      const vendor = ScriptedVendor.make()
      const fail = () => Effect.die(new StoreFailure({ message: "the store is down" }))
      const broken = { ...fine, claims: { take: fail, release: fail } }
      const asked = yield* (yield* replicaOn(broken, vendor))(aPage)
      yield* pass(1_000)
      assert.deepStrictEqual(yield* outcomesOf(asked), ["bought"])
      const silent = { ...fine, claims: { take: () => Effect.never, release: () => Effect.never } }
      const waiting = yield* (yield* replicaOn(silent, vendor))(bPage)
      yield* pass(6_000)
      assert.deepStrictEqual(yield* outcomesOf(waiting), ["bought"])
    }),
  )

  it.scoped("a purchase stays unknown until its figures are stored for the other replicas", () =>
    Effect.gen(function* () {
      const { store } = yield* makeDatabase
      const fine = yield* store
      const slow = {
        ...fine,
        put: (...some: Parameters<typeof fine.put>) => Effect.delay(fine.put(...some), "1 second"),
      }
      const purchases = Context.get(yield* Layer.build(MemoryPurchases.layer), Purchases)
      const one = yield* replicaOn(
        slow,
        ScriptedVendor.make(),
        {},
        Layer.succeed(Purchases, purchases),
      )
      const unknownCalls = Effect.map(purchases.days({}), (days) =>
        days.map(({ unknownCalls }) => unknownCalls),
      )
      const asked = yield* one(aPage)
      yield* pass(500)
      assert.deepStrictEqual(yield* outcomesOf(asked), ["bought"])
      assert.deepStrictEqual(yield* unknownCalls, [1])
      yield* pass(700)
      assert.deepStrictEqual(yield* unknownCalls, [0])
    }),
  )

  it.scoped("without a cache, replicas share nothing", () =>
    Effect.gen(function* () {
      const { store } = yield* makeDatabase
      const vendor = ScriptedVendor.make()
      vendor.always(after("500 millis"))
      const options = { cache: { ttl: Duration.zero, capacity: 100 } }
      const one = yield* replicaOn(yield* store, vendor, options)
      const other = yield* replicaOn(yield* store, vendor, options)
      const asked = [yield* one(aPage), yield* other(aPage)]
      yield* pass(1_000)
      yield* Effect.forEach(asked, Fiber.join)
      assert.lengthOf(vendor.calls, 2)
    }),
  )
})
