import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as MemoryMetricsCache from "../../src/memory/MetricsCache.ts"
import { checkedFrom, Outcome } from "../../src/Metrics.ts"
import { MetricsCache } from "../../src/MetricsCache.ts"
import { prospectsOf } from "../../src/MetricsProvider.ts"
import * as Cached from "../../src/providers/Cached.ts"
import { StoreFailure } from "../../src/StoreFailure.ts"
import { tags, targets } from "../support/lookup.ts"
import { settable } from "../support/SettableClock.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"

const { checked } = ScriptedVendor

/** Creates a cached provider, with its own memory, over the provided store. */
const setUp = (options: Partial<Cached.Options> = {}) =>
  Effect.gen(function* () {
    const vendor = ScriptedVendor.make()
    const cached = yield* Cached.make("scripted", {
      ttl: Duration.hours(24),
      capacity: 1000,
      ...options,
    })
    const provider = cached.readThrough(cached.writeThrough(vendor.provider))
    return {
      vendor,
      lookup: (...urls: ReadonlyArray<string>) =>
        Effect.map(provider.lookup(targets(...urls)), asBought),
      prospects: (...urls: ReadonlyArray<string>) => prospectsOf(provider, targets(...urls)),
      known: (...urls: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const found = yield* provider.known(targets(...urls))
          assert.deepStrictEqual(provider.known.peek?.(targets(...urls)), found)
          return Option.getOrUndefined(Option.map(found, asBought))
        }),
    }
  })

/** Leaves out what the cache adds to figures, so that they equal those that were bought. */
const asBought = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map((outcome): Outcome => {
    if (outcome._tag === "Failed") return outcome
    const { fetchedAt: _, provider: __, source: ___, index, metrics, of, ...bought } = outcome
    return { ...bought, ...checkedFrom(metrics, { index, of }) }
  })

const storeWith = (method: Effect.Effect<never>) =>
  Effect.provideService(MetricsCache, {
    get: () => method,
    put: () => method,
    observations: () => method,
    sweep: () => method,
  })

describe("Cached", () => {
  it.scoped("a cached provider looks up a target once per time to live", () =>
    Effect.gen(function* () {
      const { lookup, vendor } = yield* setUp({ ttl: Duration.minutes(24) })
      yield* lookup("example.com")
      yield* TestClock.adjust("23 minutes")
      assert.deepStrictEqual(
        yield* lookup("example.com", "example.org"),
        ["example.com/", "example.org/"].map(checked),
      )
      yield* TestClock.adjust("1 minute")
      yield* lookup("example.com", "example.org")
      assert.deepStrictEqual(vendor.calls, [["example.com/"], ["example.org/"], ["example.com/"]])
    }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.scoped("figures that only the store has are known, until their lifetime is over", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(Effect.flatMap(setUp(), ({ lookup }) => lookup("example.com")))
      const { known, prospects, vendor } = yield* setUp()
      assert.deepStrictEqual(yield* prospects("example.org", "example.com"), ["asked", "known"])
      assert.isDefined(yield* known("example.com"))
      yield* TestClock.adjust("24 hours")
      assert.deepStrictEqual(yield* prospects("example.com"), ["asked"])
      assert.lengthOf(vendor.calls, 0)
    }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.scoped("partial figures are not cached", () =>
    Effect.gen(function* () {
      const { lookup, vendor } = yield* setUp()
      const metrics = { domainAuthority: 9, pageAuthority: 8 }
      vendor.script(() => Effect.succeed([Outcome.Checked({ metrics, isPartial: true })]))
      yield* lookup("example.com")
      assert.deepStrictEqual(yield* lookup("example.com"), [checked("example.com/")])
      yield* lookup("example.com")
      assert.lengthOf(vendor.calls, 2)
    }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.scoped(
    "figures name when the provider gave them, and those from the cache also the provider",
    () =>
      Effect.gen(function* () {
        const vendor = ScriptedVendor.make()
        const cached = yield* Cached.make("scripted", { ttl: Duration.hours(24), capacity: 1000 })
        const provider = cached.readThrough(cached.writeThrough(vendor.provider))
        yield* TestClock.adjust("1 hour")
        const [bought] = yield* provider.lookup(targets("example.com"))
        assert.deepInclude(bought, { fetchedAt: 3_600_000 })
        yield* TestClock.adjust("1 hour")
        const [known] = yield* provider.lookup(targets("example.com"))
        assert.deepInclude(known, { provider: "scripted", source: "known", fetchedAt: 3_600_000 })
      }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.scoped("a cached provider keeps the index and the domain of figures", () =>
    Effect.gen(function* () {
      const { known, lookup, vendor } = yield* setUp()
      const metrics = { domainAuthority: 9, pageAuthority: 9 }
      const bought = Outcome.Checked({ metrics, index: "2026-09-01", of: "example.com" })
      const undated = Outcome.Checked({ metrics, of: "example.com" })
      vendor.script(() => Effect.succeed([bought, undated]))
      yield* lookup("blog.example.com", "shop.example.com")
      assert.deepStrictEqual(yield* known("blog.example.com"), [bought])
      assert.deepStrictEqual(yield* known("shop.example.com"), [undated])
    }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.scoped("a cached provider answers a cache hit in memory synchronously", () =>
    Effect.gen(function* () {
      const { lookup } = yield* setUp()
      yield* lookup("example.com", "example.org")
      assert.deepStrictEqual(
        Effect.runSync(lookup("example.org", "example.com")),
        ["example.org/", "example.com/"].map(checked),
      )
    }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.scoped(
    "a cached provider answers from its memory if and only if the memory has the figures of all targets",
    () =>
      Effect.gen(function* () {
        const { known, lookup } = yield* setUp({ ttl: Duration.minutes(24) })
        yield* lookup("example.com")
        assert.deepStrictEqual(yield* known("example.com"), [checked("example.com/")])
        assert.isUndefined(yield* known("example.com", "example.org"))
        yield* TestClock.adjust("24 minutes")
        assert.isUndefined(yield* known("example.com"))
      }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.scoped("a cached provider does not cache failures", () =>
    Effect.gen(function* () {
      const { lookup, vendor } = yield* setUp()
      vendor.script(
        ScriptedVendor.lacks((page) => page === "example.org/"),
        ScriptedVendor.fails("Unavailable"),
      )
      assert.deepStrictEqual(tags(yield* lookup("example.com", "example.org")), [
        "ok",
        "PROVIDER_ERROR",
      ])
      yield* Effect.flip(lookup("example.org"))
      assert.deepStrictEqual(tags(yield* lookup("example.org", "example.com")), ["ok", "ok"])
      assert.deepStrictEqual(vendor.calls.slice(1), [["example.org/"], ["example.org/"]])
    }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.scoped(
    "a cached provider keeps recently used figures in memory and all figures in the store",
    () =>
      Effect.gen(function* () {
        let reads = 0
        const store = yield* MetricsCache
        const counted = MetricsCache.of({
          ...store,
          get: (...args) => Effect.suspend(() => (reads++, store.get(...args))),
        })
        const { lookup, vendor } = yield* Effect.provideService(
          setUp({ capacity: 2 }),
          MetricsCache,
          counted,
        )
        yield* lookup("a.example.com")
        yield* lookup("b.example.com")
        yield* lookup("a.example.com")
        yield* lookup("c.example.com")
        yield* TestClock.adjust("200 millis")
        reads = 0
        yield* lookup("a.example.com", "c.example.com")
        assert.strictEqual(reads, 0)
        yield* lookup("b.example.com")
        assert.strictEqual(reads, 1)
        assert.lengthOf(vendor.calls, 3)
      }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.effect("stored figures survive a restart until their time to live ends", () =>
    Effect.gen(function* () {
      const asking = Effect.scoped(
        Effect.gen(function* () {
          const { lookup, vendor } = yield* setUp()
          assert.deepStrictEqual(yield* lookup("example.com"), [checked("example.com/")])
          return vendor.calls.length
        }),
      )
      assert.strictEqual(yield* asking, 1)
      yield* TestClock.adjust("12 hours")
      assert.strictEqual(yield* asking, 0)
      yield* TestClock.adjust("12 hours")
      assert.strictEqual(yield* asking, 1)
    }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  for (const [name, method] of [
    ["fails", Effect.die(new StoreFailure({ message: "full" }))],
    ["has a bug", Effect.dieMessage("bug")],
  ] as const) {
    it.effect(`a lookup succeeds when the metrics store ${name}`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { lookup, vendor } = yield* setUp()
          yield* lookup("example.com")
          yield* TestClock.adjust("1 minute")
          assert.deepStrictEqual(yield* lookup("example.com"), [checked("example.com/")])
          assert.lengthOf(vendor.calls, 1)
        }),
      ).pipe(storeWith(method)),
    )
  }

  it.effect(
    "a service that stops during a write to the metrics store writes all waiting figures before it ends",
    () =>
      Effect.gen(function* () {
        const store = yield* MetricsCache
        const slow = MetricsCache.of({
          ...store,
          put: (figures) => Effect.delay(store.put(figures), "500 millis"),
        })
        const urls = Array.from({ length: 201 }, (_, i) => `site${i}.example.com`)
        const scope = yield* Scope.make()
        const first = yield* setUp().pipe(
          Scope.extend(scope),
          Effect.provideService(MetricsCache, slow),
        )
        yield* first.lookup(...urls)
        yield* TestClock.adjust("300 millis")
        const stopping = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* TestClock.adjust("2 seconds")
        yield* stopping
        const second = yield* Effect.scoped(Effect.tap(setUp(), ({ lookup }) => lookup(...urls)))
        assert.isEmpty(second.vendor.calls)
      }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.scoped("a clock that is wrong for ten minutes deletes no figures and no history", () =>
    Effect.gen(function* () {
      const store = yield* MetricsCache
      const sweeps: Array<number> = []
      const watched = MetricsCache.of({
        ...store,
        sweep: (until) => Effect.sync(() => void sweeps.push(until)),
      })
      const { adjust, clock, putBack, putForward } = yield* settable
      yield* setUp({ history: Duration.days(2) }).pipe(
        Effect.provideService(MetricsCache, watched),
        Effect.withClock(clock),
      )
      yield* adjust("5 minutes")
      putForward("30 days")
      yield* adjust("10 minutes")
      putBack("30 days")
      yield* adjust("14 minutes")
      assert.deepStrictEqual(sweeps, [])
      yield* adjust("1 minute")
      const now = clock.unsafeCurrentTimeMillis()
      assert.deepStrictEqual(sweeps, [now - Duration.toMillis("2 days")])
    }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.effect("the service stops even if the metrics store hangs", () =>
    Effect.gen(function* () {
      const store = yield* MetricsCache
      const hanging = MetricsCache.of({ ...store, put: () => Effect.never })
      const scope = yield* Scope.make()
      const { lookup } = yield* setUp().pipe(
        Scope.extend(scope),
        Effect.provideService(MetricsCache, hanging),
      )
      yield* lookup("example.com")
      const stopping = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isSome(yield* Fiber.poll(stopping)))
    }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )

  it.effect("a metrics store that hangs delays only the first lookup", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { lookup } = yield* setUp()
        const first = yield* Effect.fork(lookup("example.com"))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* first, [checked("example.com/")])
        assert.deepStrictEqual(yield* lookup("example.org"), [checked("example.org/")])
      }),
    ).pipe(storeWith(Effect.never)),
  )
})
