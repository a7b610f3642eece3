/**
 * Tests the cache around a vendor: what it keeps, how old figures may be, and a store that is slow
 * or fails.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as memory from "../support/memory.ts"
import { Outcome, providerFailed } from "../../src/check/Metrics.ts"
import { type Figures, MetricsCache } from "../../src/providers/figures/MetricsCache.ts"
import * as Cached from "../../src/providers/figures/Cached.ts"
import { StoreFailure } from "../../src/database/StoreFailure.ts"
import { context, targets } from "../support/lookup.ts"
import { asProvider } from "../../src/providers/Composed.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"
import { settable } from "../support/SettableClock.ts"

type Store = MetricsCache["Type"]

const metrics = { domainAuthority: 40, pageAuthority: 30.5 }
const checked = Outcome.Checked({ metrics })
const unknown = providerFailed("no such host", "unknown")

/** A cache with its own memory, over the provided store. Figures live for a day. */
const setUp = (options: Partial<Cached.Options> = {}) =>
  Effect.gen(function* () {
    const { always, calls, vendor } = ScriptedVendor.make()
    const answerWith = (answer: (page: string) => Outcome) =>
      always((targets) => Effect.succeed(targets.map(({ page }) => answer(page))))
    answerWith(() => checked)
    const { reading, saving } = yield* Cached.make("scripted", {
      ttl: Duration.days(1),
      capacity: 50_000,
      ...options,
    })
    const provider = reading(asProvider(saving(vendor)))
    const lookup = (...urls: ReadonlyArray<string>) => provider.lookup(targets(...urls), context())
    return {
      calls,
      answerWith,
      provider,
      lookup,
      sources: (...urls: ReadonlyArray<string>) => Effect.map(lookup(...urls), summary),
      aged: (maxAge: Duration.DurationInput, ...urls: ReadonlyArray<string>) =>
        Effect.map(
          provider.lookup(targets(...urls), context({ maxAgeMs: Duration.toMillis(maxAge) })),
          summary,
        ),
      prospects: (...urls: ReadonlyArray<string>) => provider.prospects(targets(...urls)),
      known: (...urls: ReadonlyArray<string>) =>
        Effect.map(provider.known(targets(...urls)), Option.getOrUndefined),
    }
  })

const summary = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map((outcome) =>
    outcome._tag === "Checked" ? (outcome.source ?? "bought") : outcome.cause,
  )

/** Replaces methods of the store. */
const withStore =
  (change: (store: Store) => Partial<Store>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R | MetricsCache>) =>
    Effect.flatMap(MetricsCache, (store) =>
      Effect.provideService(effect, MetricsCache, { ...store, ...change(store) }),
    )

/** Puts figures into the store, as another replica does. */
const stored = (pages: ReadonlyArray<string>, fetchedAt = 0) =>
  Effect.flatMap(MetricsCache, ({ put }) => {
    const [first, ...rest] = pages.map((page): Figures => ({
      provider: "scripted",
      page,
      metrics,
      fetchedAt,
      index: undefined,
      of: undefined,
    }))
    return first === undefined ? Effect.void : put([first, ...rest])
  })

/** Runs a test with an empty store. The test gets the texts that were logged. */
const over = <A, E, R>(
  body: (logged: ReadonlyArray<string>) => Effect.Effect<A, E, R | MetricsCache>,
) => {
  const logged: Array<string> = []
  const logger = Logger.make(({ message }) => void logged.push(String(message)))
  return body(logged).pipe(
    Effect.provide(memory.metricsCache),
    Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
  )
}

/** Closes a scope, and lets time pass meanwhile. */
const closed = (scope: Scope.CloseableScope) =>
  Effect.gen(function* () {
    const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
    yield* TestClock.adjust("2 seconds")
    yield* TestClock.adjust("2 seconds")
    assert.isTrue(Option.isSome(yield* Fiber.poll(closing)))
  })

const failing = Effect.die(new StoreFailure({ message: "full" }))

describe("what the cache keeps", () => {
  it.scoped("a target is bought once per cache lifetime", () =>
    over(() =>
      Effect.gen(function* () {
        const { calls, sources } = yield* setUp()
        yield* sources("example.com")
        yield* TestClock.adjust("23 hours")
        assert.deepStrictEqual(yield* sources("example.com", "example.org"), ["known", "bought"])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* sources("example.com", "example.org"), ["bought", "known"])
        assert.deepStrictEqual(calls, [["example.com/"], ["example.org/"], ["example.com/"]])
      }),
    ),
  )

  it.effect("cached figures survive a restart and count as known until their lifetime ends", () =>
    over(() =>
      Effect.gen(function* () {
        const restarted = Effect.scoped(
          Effect.gen(function* () {
            const { prospects, sources } = yield* setUp()
            const [prospect] = yield* prospects("example.com")
            return [prospect, ...(yield* sources("example.com"))]
          }),
        )
        assert.deepStrictEqual(yield* restarted, ["asked", "bought"])
        yield* TestClock.adjust("23 hours")
        assert.deepStrictEqual(yield* restarted, ["known", "known"])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* restarted, ["asked", "bought"])
      }),
    ),
  )

  it.scoped(
    "cached figures keep their provider, time, index and domain, in memory and in the store",
    () =>
      over(() =>
        Effect.gen(function* () {
          yield* TestClock.adjust("1 hour")
          const { answerWith, lookup } = yield* setUp()
          const origin = { index: "2026-09-01", of: "example.com" }
          answerWith(() => Outcome.Checked({ metrics, ...origin }))
          const [bought] = yield* lookup("blog.example.com")
          assert.deepInclude(bought, { ...origin, metrics, fetchedAt: 3_600_000 })
          yield* TestClock.adjust("1 hour")
          const fetchedAt = 3_600_000
          const known = Outcome.Checked({
            metrics,
            ...origin,
            fetchedAt,
            provider: "scripted",
            source: "known",
          })
          assert.deepStrictEqual(yield* lookup("blog.example.com"), [known])
          const other = yield* setUp()
          assert.deepStrictEqual(yield* other.lookup("blog.example.com"), [known])
        }),
      ),
  )

  it.scoped("failures and partial figures are not cached", () =>
    over(() =>
      Effect.gen(function* () {
        const { answerWith, sources } = yield* setUp()
        answerWith((page) =>
          page === "example.com/" ? unknown : Outcome.Checked({ metrics, isPartial: true }),
        )
        assert.deepStrictEqual(yield* sources("example.com", "example.org"), ["unknown", "bought"])
        answerWith(() => checked)
        assert.deepStrictEqual(yield* sources("example.com", "example.org"), ["bought", "bought"])
      }),
    ),
  )

  it.scoped("a lookup whose figures are all in memory is answered without waiting", () =>
    over(() =>
      Effect.gen(function* () {
        const { known, lookup } = yield* setUp()
        yield* lookup("example.com", "example.org")
        const found = yield* known("example.org", "example.com")
        const again = Effect.withClock(lookup("example.org", "example.com"), yield* Effect.clock)
        assert.deepStrictEqual(Effect.runSync(again), found)
        assert.isUndefined(yield* known("example.com", "example.net"))
        yield* TestClock.adjust("24 hours")
        assert.isUndefined(yield* known("example.com"))
      }),
    ),
  )
})

describe("the age of figures that a client accepts", () => {
  it.scoped("figures older than a client accepts are bought again, and younger ones are not", () =>
    over(() =>
      Effect.gen(function* () {
        const { aged, provider } = yield* setUp()
        yield* aged(Duration.infinity, "example.com")
        yield* TestClock.adjust("10 minutes")
        assert.deepStrictEqual(yield* aged("1 hour", "example.com"), ["known"])
        assert.deepStrictEqual(yield* provider.prospects(targets("example.com"), 60_000), ["asked"])
        assert.deepStrictEqual(yield* aged("1 minute", "example.com"), ["bought"])
        assert.deepStrictEqual(yield* aged("1 minute", "example.com"), ["known"])
      }),
    ),
  )

  it.scoped(
    "the accepted age is limited by the operator's minimum age and the cache lifetime",
    () =>
      over(() =>
        Effect.gen(function* () {
          const { aged } = yield* setUp({ minAge: "1 hour" })
          yield* aged(0, "example.com")
          yield* TestClock.adjust("59 minutes")
          assert.deepStrictEqual(yield* aged(0, "example.com"), ["known"])
          yield* TestClock.adjust("1 minute")
          assert.deepStrictEqual(yield* aged(0, "example.com"), ["bought"])
          yield* TestClock.adjust("24 hours")
          assert.deepStrictEqual(yield* aged("7 days", "example.com"), ["bought"])
        }),
      ),
  )
})

describe("stale figures when the vendor fails", () => {
  const failed = () => providerFailed("out of order")

  it.scoped(
    "if the vendor fails, stale figures are served for the set time past their lifetime, and marked",
    () =>
      over(() =>
        Effect.gen(function* () {
          const { answerWith, lookup, sources } = yield* setUp({ staleIfError: "1 day" })
          yield* lookup("example.com")
          answerWith(failed)
          yield* TestClock.adjust("47 hours")
          const [stale, missing] = yield* lookup("example.com", "example.org")
          assert.deepInclude(stale, {
            metrics,
            provider: "scripted",
            source: "stale",
            fetchedAt: 0,
          })
          assert.deepInclude(missing, { _tag: "Failed", cause: "failed" })
          answerWith(() => unknown)
          assert.deepStrictEqual(yield* sources("example.com"), ["unknown"])
          answerWith(failed)
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(yield* sources("example.com"), ["failed"])
        }),
      ),
  )

  it.scoped("without the setting for stale figures, none are served past their lifetime", () =>
    over(() =>
      Effect.gen(function* () {
        const { answerWith, sources } = yield* setUp()
        yield* sources("example.com")
        answerWith(failed)
        yield* TestClock.adjust("24 hours")
        assert.deepStrictEqual(yield* sources("example.com"), ["failed"])
      }),
    ),
  )
})

describe("a slow or failing store of cached figures", () => {
  it.scoped("a failed read of the cache is a miss, and is logged once until a read succeeds", () =>
    over((logged) =>
      Effect.gen(function* () {
        let method: Effect.Effect<never> | undefined = failing
        yield* stored(["a.com/", "b.com/"])
        const { sources } = yield* withStore(({ get }) => ({
          get: (...args) => Effect.suspend(() => method ?? get(...args)),
        }))(setUp())
        assert.deepStrictEqual(yield* sources("c.com"), ["bought"])
        method = Effect.dieMessage("a bug in the store")
        assert.deepStrictEqual(yield* sources("d.com"), ["bought"])
        assert.lengthOf(logged, 1)
        method = undefined
        assert.deepStrictEqual(yield* sources("a.com"), ["known"])
        method = failing
        assert.deepStrictEqual(yield* sources("b.com"), ["bought"])
        assert.lengthOf(logged, 2)
      }),
    ),
  )

  it.scoped(
    "a cache read that takes over a second is a miss, even if it cannot be interrupted",
    () =>
      over((logged) =>
        Effect.gen(function* () {
          let slow: Effect.Effect<void> = Effect.sleep("900 millis")
          yield* stored(["a.com/", "b.com/", "c.com/"])
          const { sources } = yield* withStore(({ get }) => ({
            get: (...args) => Effect.suspend(() => Effect.zipRight(slow, get(...args))),
          }))(setUp())
          const asked = (url: string) =>
            Effect.gen(function* () {
              const fiber = yield* Effect.fork(sources(url))
              yield* TestClock.adjust("1 second")
              return yield* Option.getOrThrow(yield* Fiber.poll(fiber))
            })
          assert.deepStrictEqual(yield* asked("a.com"), ["known"])
          const held = yield* Deferred.make<void>()
          slow = Effect.uninterruptible(Deferred.await(held))
          assert.deepStrictEqual(yield* asked("b.com"), ["bought"])
          assert.deepStrictEqual(yield* asked("d.com"), ["bought"])
          assert.lengthOf(logged, 1)
          slow = Effect.void
          assert.deepStrictEqual(yield* asked("c.com"), ["known"])
          yield* Deferred.succeed(held, undefined)
        }),
      ),
  )

  const aSecondAndAHalf = Effect.sleep("1.5 seconds")
  for (const [what, broken] of [
    ["a sweep of 1.5 s", { sweep: () => aSecondAndAHalf }],
    ["a sweep that fails", { sweep: () => failing }],
    ["a write of 1.5 s", { put: () => aSecondAndAHalf }],
    ["a write that hangs", { put: () => Effect.never }],
    ["a write that fails", { put: () => failing }],
  ] satisfies ReadonlyArray<readonly [string, Partial<Store>]>) {
    it.effect(`${what} causes no misses, and is logged at most once`, () =>
      over((logged) =>
        Effect.gen(function* () {
          const scope = yield* Scope.make()
          const { sources } = yield* setUp().pipe(
            Scope.extend(scope),
            withStore(() => broken),
          )
          yield* TestClock.adjust("9 minutes")
          const urls = Array.from({ length: 40 }, (_, i) => `${i}.example.com`)
          yield* stored(urls.map((url) => `${url}/`))
          // A process runs its first sweep after ten minutes.
          yield* TestClock.adjust("59 seconds")
          for (const url of urls) {
            yield* TestClock.adjust("100 millis")
            assert.deepStrictEqual(yield* sources(url, `new.${url}`), ["known", "bought"])
          }
          assert.lengthOf(logged, what.includes("1.5") ? 0 : 1)
          yield* closed(scope)
        }),
      ),
    )
  }

  it.scoped(
    "figures that do not fit into the write queue stay in memory, and this is logged once",
    () =>
      over((logged) =>
        Effect.gen(function* () {
          const written = new Set<string>()
          let isWorking = false
          const { lookup, provider } = yield* withStore(() => ({
            put: (figures) =>
              isWorking
                ? Effect.sync(() => figures.forEach(({ page }) => written.add(page)))
                : Effect.never,
          }))(setUp())
          const some = (from: number) =>
            targets(...Array.from({ length: 3000 }, (_, i) => `example.com/${from + i}`))
          for (let i = 0; i < 8; i += 1) yield* provider.lookup(some(i * 3000), context())
          assert.lengthOf(logged, 1)
          assert.deepStrictEqual(
            new Set(summary(yield* provider.lookup(some(21_000), context()))),
            new Set(["known"]),
          )
          isWorking = true
          yield* TestClock.adjust("1 minute")
          assert.isAtLeast(written.size, 19_600)
          assert.isAtMost(written.size, 20_200)
          yield* lookup("late.example.com")
          yield* TestClock.adjust("200 millis")
          assert.isTrue(written.has("late.example.com/"))
        }),
      ),
  )

  it.effect("a stopping service writes all queued figures before it ends", () =>
    over(() =>
      Effect.gen(function* () {
        const urls = Array.from({ length: 501 }, (_, i) => `${i}.example.com`)
        const scope = yield* Scope.make()
        const { lookup } = yield* setUp().pipe(
          Scope.extend(scope),
          withStore(({ put }) => ({ put: (figures) => Effect.delay(put(figures), "500 millis") })),
        )
        yield* lookup(...urls)
        yield* TestClock.adjust("300 millis")
        yield* closed(scope)
        const { calls } = yield* Effect.scoped(Effect.tap(setUp(), ({ lookup }) => lookup(...urls)))
        assert.isEmpty(calls)
      }),
    ),
  )

  it.effect("a service can stop even if its store hangs", () =>
    over(() =>
      Effect.gen(function* () {
        const held = yield* Deferred.make<void>()
        const scope = yield* Scope.make()
        const { lookup } = yield* setUp().pipe(
          Scope.extend(scope),
          withStore(() => ({ put: () => Effect.uninterruptible(Deferred.await(held)) })),
        )
        yield* lookup(...Array.from({ length: 1000 }, (_, i) => `${i}.example.com`))
        yield* closed(scope)
        yield* Deferred.succeed(held, undefined)
      }),
    ),
  )

  it.scoped(
    "a clock that is wrong for ten minutes does not cause figures or history to be deleted",
    () =>
      over(() =>
        Effect.gen(function* () {
          const sweeps: Array<number> = []
          const { adjust, clock, putBack, putForward } = yield* settable
          yield* setUp({ history: "2 days" }).pipe(
            withStore(() => ({ sweep: (until) => Effect.sync(() => void sweeps.push(until)) })),
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
        }),
      ),
  )
})
