import * as Https from "node:https"
import * as Net from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { freePort, listenOnFreePort } from "../../scripts/free-port.ts"
import * as FakeDataForSeo from "../../scripts/support/FakeDataForSeo.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeOpenPageRank from "../../scripts/support/FakeOpenPageRank.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { AccountId, CurrentAccount } from "../../src/Account.ts"
import * as Deadline from "../../src/Deadline.ts"
import * as MemoryMetricsCache from "../../src/memory/MetricsCache.ts"
import * as MemoryPurchases from "../../src/memory/Purchases.ts"
import { MetricsProvider, type ProviderError } from "../../src/MetricsProvider.ts"
import { CallLog } from "../../src/providers/CallLog.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { Limit } from "../../src/providers/Limit.ts"
import * as Moz from "../../src/providers/Moz.ts"
import * as Purchased from "../../src/providers/Purchased.ts"
import * as Timed from "../../src/providers/Timed.ts"
import { Purchases } from "../../src/Purchases.ts"
import { StoreFailure } from "../../src/StoreFailure.ts"
import * as Alarms from "../../src/time/Alarms.ts"
import { certificate, key } from "../support/certificates.ts"
import { lookup, targets } from "../support/lookup.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"

const { bug, fails, hang } = ScriptedVendor

const now = Date.UTC(2026, 10, 24)
const monthEnd = Date.UTC(2026, 11, 1)
const kept = Duration.days(90)

const pages = (count: number) => targets(...Arr.makeBy(count, (i) => `n${i}.example.com`))

/** The sums of the only day and provider. */
const sums = Effect.flatMap(Purchases, ({ days }) => days({})).pipe(
  Effect.map((days) => {
    assert.lengthOf(days, 1)
    const { calls, cost, rows, targets, unknownCalls, unknownTargets } = days[0] ?? assert.fail()
    return { calls, targets, rows, cost, unknownCalls, unknownTargets }
  }),
)

const closed = (calls: number, targets: number, rows: number, cost: number | null = null) => ({
  calls,
  targets,
  rows,
  cost,
  unknownCalls: 0,
  unknownTargets: 0,
})

const unknown = (calls: number, targets: number) => ({
  ...closed(calls, targets, 0),
  unknownCalls: calls,
  unknownTargets: targets,
})

const test = (title: string, body: Effect.Effect<void, unknown, Purchases | Scope.Scope>) =>
  it.scoped(title, () =>
    Effect.zipRight(TestClock.setTime(now), Effect.provide(body, MemoryPurchases.layer)),
  )

const ceiling = (rows: number) => ({ rows, setting: "AUTHORITY_MOZ_CEILING" })

/** The vendor with all decorators. By default it has no cache. */
const decorated = (
  vendor: MetricsProvider["Type"],
  options: Purchased.Options = { kept },
  ttl: Duration.Duration = Duration.zero,
) =>
  Composed.decorated(Layer.succeed(MetricsProvider, vendor), {
    timeout: "10 seconds",
    concurrency: 4,
    cache: { ttl, capacity: 10 },
    purchases: () => options,
  }).pipe(
    Layer.provide(MemoryMetricsCache.layer),
    Layer.build,
    Effect.map((context) => Context.get(context, MetricsProvider)),
  )

describe("a purchase", () => {
  test(
    "an answered call costs a row for each target, at the price of 1,000 rows",
    Effect.gen(function* () {
      const { provider } = ScriptedVendor.make()
      const priced = yield* Purchased.make(provider, { kept, price: 2_500_250 })
      yield* priced.lookup(pages(3))
      assert.deepStrictEqual(yield* sums, closed(1, 3, 3, 7501))
    }),
  )

  test(
    "each attempt of a lookup is a purchase",
    Effect.gen(function* () {
      const vendor = ScriptedVendor.make()
      const { lookup } = yield* decorated(vendor.provider)
      vendor.script(fails("Unavailable"), fails("Unavailable"))
      const asked = yield* Effect.fork(lookup(pages(3)))
      yield* TestClock.adjust("9 seconds")
      yield* asked
      assert.deepStrictEqual(yield* sums, closed(3, 9, 3))
    }),
  )

  test(
    "figures from the cache are no purchase",
    Effect.gen(function* () {
      const vendor = ScriptedVendor.make()
      const { known, lookup } = yield* decorated(vendor.provider, { kept }, Duration.days(1))
      const asked = yield* Effect.fork(lookup(pages(3)))
      yield* TestClock.adjust("1 second")
      yield* asked
      for (let i = 0; i < 3; i++) yield* lookup(pages(3))
      assert.isTrue(Option.isSome(yield* known(pages(3))))
      assert.deepStrictEqual(yield* sums, closed(1, 3, 3))
    }),
  )

  const certain = ["Throttled", "Exhausted", "Unavailable", "Refused", "Rejected"] as const
  for (const reason of certain) {
    test(
      `a call that fails as ${reason} costs nothing`,
      Effect.gen(function* () {
        const { provider, script } = ScriptedVendor.make()
        script(fails(reason))
        const { lookup } = yield* Purchased.make(provider, { kept, price: 1_000_000 })
        yield* Effect.flip(lookup(pages(3)))
        assert.deepStrictEqual(yield* sums, closed(1, 3, 0, 0))
      }),
    )
  }

  const doubtful: ReadonlyArray<readonly [string, ScriptedVendor.Step]> = [
    ["fails as Timeout", fails("Timeout")],
    ["fails as Unreachable", fails("Unreachable")],
    ["fails as Malformed", fails("Malformed")],
    ["meets a bug", bug],
    ["gets no answer in time", hang],
  ]
  for (const [what, step] of doubtful) {
    test(
      `a call that ${what} stays unknown`,
      Effect.gen(function* () {
        const { provider, script } = ScriptedVendor.make()
        script(step)
        const { lookup } = yield* Purchased.make(provider, { kept })
        const asked = yield* Effect.fork(Effect.timeout(lookup(pages(3)), "1 second"))
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* asked.await)._tag, "Failure")
        assert.deepStrictEqual(yield* sums, unknown(1, 3))
      }),
    )
  }
})

describe("a ceiling", () => {
  test(
    "a call gets the rows that are left, the other targets are exhausted, and then nobody is asked",
    Effect.gen(function* () {
      const vendor = ScriptedVendor.make()
      const { lookup } = yield* Purchased.make(vendor.provider, { kept, ceiling: ceiling(5) })
      yield* lookup(pages(3))
      const outcomes = yield* lookup(pages(4))
      assert.deepStrictEqual(
        outcomes.map((outcome) => (outcome._tag === "Failed" ? outcome.cause : outcome._tag)),
        ["Checked", "Checked", "exhausted", "exhausted"],
      )
      const error = yield* Effect.flip(lookup(pages(1)))
      assert.strictEqual(
        error.message,
        "scripted was not asked: the ceiling AUTHORITY_MOZ_CEILING of 5 rows a month is reached",
      )
      assert.deepStrictEqual(error.retryAfter, Duration.millis(monthEnd - now))
      assert.lengthOf(vendor.calls, 2)
      yield* TestClock.setTime(monthEnd)
      yield* lookup(pages(5))
    }),
  )

  test(
    "an unknown call counts with all its targets, and the error then names no time",
    Effect.gen(function* () {
      const { provider, script } = ScriptedVendor.make()
      const { lookup } = yield* Purchased.make(provider, { kept, ceiling: ceiling(5) })
      script(fails("Timeout"))
      yield* Effect.flip(lookup(pages(5)))
      const error = yield* Effect.flip(lookup(pages(1)))
      assert.strictEqual(error.reason, "Exhausted")
      assert.isUndefined(error.retryAfter)
    }),
  )

  test(
    "at the ceiling the circuit says so, and the refusals do not count as the vendor's",
    Effect.gen(function* () {
      const vendor = ScriptedVendor.make()
      const provider = yield* decorated(vendor.provider, { kept, ceiling: ceiling(2) })
      yield* Effect.fork(provider.lookup(pages(2)))
      yield* TestClock.adjust("1 second")
      const asked = yield* Effect.fork(provider.lookup(pages(1)))
      yield* TestClock.adjust("1 second")
      assert.include(JSON.stringify(yield* asked), "AUTHORITY_MOZ_CEILING")
      const [circuit] = yield* provider.circuits ?? assert.fail()
      assert.deepInclude(circuit, { openReason: "its ceiling is reached", isExhausted: true })
      yield* TestClock.setTime(monthEnd)
      const renewed = yield* Effect.fork(provider.lookup(pages(1)))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* renewed)[0]?._tag, "Checked")
    }),
  )
})

describe("a vendor's pause", () => {
  test(
    "a Retry-After holds the calls of all processes until it is over",
    Effect.gen(function* () {
      const [one, other] = [ScriptedVendor.make(), ScriptedVendor.make()]
      one.script(fails("Throttled", Duration.seconds(7)))
      const first = yield* Purchased.make(one.provider, { kept })
      const second = yield* Purchased.make(other.provider, { kept })
      yield* Effect.flip(first.lookup(pages(1)))
      yield* TestClock.adjust("2 seconds")
      const error = yield* Effect.flip(second.lookup(pages(1)))
      assert.deepInclude(error, { reason: "Throttled", isUnsent: true })
      assert.deepStrictEqual(error.retryAfter, Duration.seconds(5))
      assert.isEmpty(other.calls)
      yield* TestClock.adjust("5 seconds")
      yield* second.lookup(pages(1))
      assert.deepStrictEqual(yield* sums, closed(2, 2, 1))
    }),
  )
})

test(
  "a process that meets the pause of another one reports it, until its end",
  Effect.gen(function* () {
    const [one, other] = [ScriptedVendor.make(), ScriptedVendor.make()]
    one.script(fails("Throttled", Duration.hours(1)))
    const first = yield* Purchased.make(one.provider, { kept })
    const second = yield* decorated(other.provider)
    yield* Effect.flip(first.lookup(pages(1)))
    yield* TestClock.adjust("10 minutes")
    yield* Effect.fork(Deadline.within(100)(second.lookup(pages(1))))
    yield* TestClock.adjust("1 second")
    const state = Effect.map(second.circuits ?? Effect.succeed([]), ([circuit]) => circuit)
    assert.deepInclude(yield* state, { openReason: undefined, isPaused: true })
    yield* TestClock.adjust("50 minutes")
    assert.deepInclude(yield* state, { isPaused: false })
    assert.isEmpty(other.calls)
  }),
)

describe("a store of purchases that fails", () => {
  const failing = Effect.map(Purchases, (purchases) =>
    Purchases.of({ ...purchases, open: () => Effect.die(new StoreFailure({ message: "full" })) }),
  )

  test(
    "the vendor is not asked, and is not blamed",
    Effect.gen(function* () {
      const vendor = ScriptedVendor.make()
      const provider = yield* Effect.provideServiceEffect(
        decorated(vendor.provider),
        Purchases,
        failing,
      )
      for (let i = 0; i < 10; i++) {
        const asked = yield* Effect.fork(provider.lookup(pages(3)))
        yield* TestClock.adjust("30 seconds")
        const [outcome] = yield* asked
        assert.deepInclude(outcome, {
          detail: "scripted was not asked: the call could not be recorded in the database",
        })
      }
      assert.isEmpty(vendor.calls)
      const [circuit] = yield* provider.circuits ?? assert.fail()
      assert.isUndefined(circuit?.openReason)
    }),
  )

  test(
    "a call that was not recorded is not halved to find a target at fault",
    Effect.gen(function* () {
      const vendor = ScriptedVendor.make()
      const sizes: Array<number> = []
      let isBroken = false
      const breakable = Effect.map(Purchases, (purchases) =>
        Purchases.of({
          ...purchases,
          open: (request) => {
            sizes.push(request.targets)
            return isBroken
              ? Effect.die(new StoreFailure({ message: "full" }))
              : purchases.open(request)
          },
        }),
      )
      const provider = yield* Effect.provideServiceEffect(
        decorated(vendor.provider),
        Purchases,
        breakable,
      )
      const askFor = (account: string) =>
        Effect.gen(function* () {
          const id = AccountId.make(account)
          const asking = Effect.provideService(provider.lookup(pages(4)), CurrentAccount, id)
          const asked = yield* Effect.fork(asking)
          yield* TestClock.adjust("30 seconds")
          return yield* asked
        })
      // A vendor that answers others lets a failed call look like that of a target.
      yield* askFor("other")
      isBroken = true
      const [outcome] = yield* askFor("own")
      assert.strictEqual(outcome?._tag, "Failed")
      const retries = 3
      assert.deepStrictEqual(
        sizes,
        Arr.makeBy(2 + retries, () => 4),
      )
    }),
  )
})

describe("a slow store of purchases", () => {
  /** A vendor, and the provider that `make` makes of it with purchases that take 4 s to open. */
  const slow = Effect.fnUntraced(function* <E, R>(
    make: (vendor: MetricsProvider["Type"]) => Effect.Effect<MetricsProvider["Type"], E, R>,
  ) {
    const vendor = ScriptedVendor.make()
    const purchases = yield* Purchases
    const provider = yield* Effect.provideService(
      make(vendor.provider),
      Purchases,
      Purchases.of({
        ...purchases,
        open: (request) => Effect.delay(purchases.open(request), "4 seconds"),
      }),
    )
    return { provider, vendor }
  })

  test(
    "takes no time from the vendor",
    Effect.gen(function* () {
      const { provider, vendor } = yield* slow(decorated)
      vendor.always(ScriptedVendor.after("9 seconds"))
      const asked = yield* Effect.fork(provider.lookup(pages(3)))
      yield* TestClock.adjust("14 seconds")
      assert.strictEqual((yield* asked)[0]?._tag, "Checked")
      assert.lengthOf(vendor.calls, 1)
      assert.deepStrictEqual(yield* sums, closed(1, 3, 3))
    }),
  )

  test(
    "a call that is recorded after the deadline is not sent, and costs nothing",
    Effect.gen(function* () {
      const { provider, vendor } = yield* slow(decorated)
      const asked = yield* Effect.fork(Deadline.within(3000)(provider.lookup(pages(3))))
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* asked)[0]?._tag, "Failed")
      assert.deepStrictEqual(yield* Effect.flatMap(Purchases, ({ days }) => days({})), [])
      yield* TestClock.adjust("20 seconds")
      assert.isEmpty(vendor.calls)
      assert.deepStrictEqual(yield* sums, closed(1, 3, 0))
    }),
  )

  test(
    "a call that is recorded too late for its first request is made anew for one that joined it",
    Effect.gen(function* () {
      const { provider, vendor } = yield* slow(decorated)
      const first = yield* Effect.fork(Deadline.within(3000)(provider.lookup(pages(3))))
      yield* TestClock.adjust("2 seconds")
      const second = yield* Effect.fork(Deadline.within(10_000)(provider.lookup(pages(3))))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* first)[0]?._tag, "Failed")
      assert.strictEqual((yield* second)[0]?._tag, "Checked")
      assert.lengthOf(vendor.calls, 1)
      assert.deepStrictEqual(yield* sums, closed(2, 6, 3))
    }),
  )

  test(
    "a call that is interrupted before it is sent costs nothing",
    Effect.gen(function* () {
      const { provider, vendor } = yield* slow((vendor) => Purchased.make(vendor, { kept }))
      const asked = yield* Effect.fork(provider.lookup(pages(3)))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(asked)
      yield* TestClock.adjust("3 seconds")
      yield* asked.await
      assert.isEmpty(vendor.calls)
      assert.deepStrictEqual(yield* sums, closed(1, 3, 0))
    }),
  )
})

const isDoubtful = new Set<ProviderError["reason"]>(["Unreachable", "Timeout", "Malformed"])

/** Complete answers, which show that the vendor billed nothing. */
const isAnswer = new Set([FakeVendor.answer(408, "").name])

describe("what vendors say of the cost", () => {
  /** Looks up through a purchase over real HTTP. */
  const buy = (
    vendor: { readonly layer: Layer.Layer<MetricsProvider> },
    ...urls: ReadonlyArray<string>
  ) =>
    Effect.gen(function* () {
      const inner = Context.get(yield* Layer.build(vendor.layer), MetricsProvider)
      const purchased = yield* Purchased.make(inner, { kept, price: 1_000_000 })
      const layer = Layer.succeed(MetricsProvider, purchased)
      return yield* Effect.timeout(Effect.either(lookup({ layer }, ...urls)), "300 millis")
    }).pipe(Effect.ignore)

  const live = (title: string, body: Effect.Effect<void, unknown, Purchases | Scope.Scope>) =>
    it.scopedLive(title, () => Effect.provide(body, MemoryPurchases.layer))

  live(
    "Moz bills its results, and not its errors",
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      moz.script(FakeMoz.siteError((page) => page.startsWith("b.")))
      yield* buy(moz, "a.example.com", "b.example.com", "c.example.com")
      assert.deepStrictEqual(yield* sums, closed(1, 3, 2, 2000))
    }),
  )

  live(
    "DataForSEO reports the cost of both calls of a lookup",
    Effect.gen(function* () {
      const seo = yield* FakeDataForSeo.make
      yield* buy(seo, "example.com", "example.org")
      assert.deepStrictEqual(yield* sums, closed(1, 2, 2, 40_600))
    }),
  )

  live(
    "a lookup at DataForSEO of which one call got no answer stays unknown",
    Effect.gen(function* () {
      const seo = yield* FakeDataForSeo.make
      seo.always({
        name: "no spam scores",
        apply: (response, reply, call) => {
          const fault = call.url.includes("bulk_spam_score") ? FakeVendor.nothing : FakeVendor.none
          fault.apply(response, reply, call)
        },
      })
      yield* buy(seo, "example.com", "example.org")
      assert.deepStrictEqual(yield* sums, unknown(1, 2))
    }),
  )

  live(
    "a lookup that DataForSEO refuses costs nothing, however slow its second call is",
    Effect.gen(function* () {
      const seo = yield* FakeDataForSeo.make
      const refused = FakeVendor.throttled("7")
      seo.script(refused, {
        name: "a late refusal",
        apply: (...call) => void setTimeout(() => refused.apply(...call), 50),
      })
      yield* buy(seo, "example.com", "example.org")
      assert.deepStrictEqual(yield* sums, closed(1, 2, 0, 0))
    }),
  )

  live(
    "Open PageRank bills domains",
    Effect.gen(function* () {
      const vendor = yield* FakeOpenPageRank.make
      yield* buy(vendor, "example.com", "www.example.com", "example.org/a")
      assert.deepStrictEqual(yield* sums, closed(1, 3, 2, 2000))
    }),
  )

  const faults: ReadonlyArray<readonly [FakeVendor.Fault, isUnknown: boolean]> = [
    ...FakeVendor.failures.map(
      ([reason, fault]) => [fault, isDoubtful.has(reason) && !isAnswer.has(fault.name)] as const,
    ),
    [FakeVendor.answer(502, ""), true],
    [FakeVendor.answer(504, ""), true],
    [FakeVendor.hang, true],
  ]
  for (const [fault, isUnknown] of faults) {
    live(
      `${fault.name}: the call ${isUnknown ? "stays unknown" : "costs nothing"}`,
      Effect.gen(function* () {
        const moz = yield* FakeMoz.make
        moz.always(fault)
        yield* buy(moz, "example.com")
        assert.deepStrictEqual(yield* sums, isUnknown ? unknown(1, 1) : closed(1, 1, 0, 0))
      }),
    )
  }

  live(
    "a connection that was never made costs nothing",
    Effect.gen(function* () {
      const token = Redacted.make(FakeMoz.token)
      const port = yield* Effect.promise(freePort)
      yield* buy({ layer: Moz.layer({ url: `http://127.0.0.1:${port}/`, token }) }, "example.com")
      assert.deepStrictEqual(yield* sums, closed(1, 1, 0, 0))
    }),
  )

  live(
    "a call that times out before its connection is made costs nothing",
    Effect.gen(function* () {
      const token = Redacted.make(FakeMoz.token)
      const port = yield* listening(Net.createServer())
      const layer = Moz.layer({ url: `https://127.0.0.1:${port}/`, token })
      const moz = Context.get(yield* Layer.build(layer), MetricsProvider)
      const limits = { limit: new Limit(1), log: new CallLog() }
      const timed = Timed.make(moz, { timeout: 200, alarms: yield* Alarms.make, ...limits })
      yield* buy({ layer: Layer.succeed(MetricsProvider, timed) }, "example.com")
      assert.deepStrictEqual(yield* sums, closed(1, 1, 0, 0))
    }),
  )

  live(
    "a call over TLS whose connection breaks after the request stays unknown",
    Effect.gen(function* () {
      const token = Redacted.make(FakeMoz.token)
      const port = yield* brokenTls
      yield* buy({ layer: Moz.layer({ url: `https://127.0.0.1:${port}/`, token }) }, "example.com")
      assert.deepStrictEqual(yield* sums, unknown(1, 1))
    }),
  )
})

/** A vendor over TLS. Between it and the caller, something answers each request without TLS. */
const brokenTls = Effect.gen(function* () {
  const { options } = Https.globalAgent
  const { rejectUnauthorized } = options
  yield* Effect.acquireRelease(
    Effect.sync(() => Object.assign(options, { rejectUnauthorized: false })),
    () => Effect.sync(() => Object.assign(options, { rejectUnauthorized })),
  )
  let breakOff = () => {}
  const vendor = Https.createServer({ cert: certificate, key }, () => breakOff())
  const inside = yield* listening(vendor)
  return yield* listening(
    Net.createServer((caller) => {
      const way = Net.connect(inside, "127.0.0.1")
      caller.on("error", () => {}).pipe(way)
      way.on("error", () => {}).pipe(caller, { end: false })
      breakOff = () => caller.write("HTTP/1.1 502 Bad Gateway\r\n\r\n")
    }),
  )
})

const listening = (server: Net.Server) =>
  Effect.acquireRelease(
    Effect.promise(() => listenOnFreePort(server)),
    () => Effect.sync(() => server.close()),
  )
