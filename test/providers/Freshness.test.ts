/** How old figures may be, and what answers when the vendor fails or does not know a target. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { Freshness } from "../../src/Freshness.ts"
import * as MemoryMetricsCache from "../../src/memory/MetricsCache.ts"
import * as MemoryPurchases from "../../src/memory/Purchases.ts"
import { type Outcome, providerFailed } from "../../src/Metrics.ts"
import { MetricsProvider, prospectsOf, ProviderError } from "../../src/MetricsProvider.ts"
import { MetricsCache } from "../../src/MetricsCache.ts"
import { Blame } from "../../src/providers/Blame.ts"
import * as Composed from "../../src/providers/Composed.ts"
import * as Fallback from "../../src/providers/Fallback.ts"
import { targets } from "../support/lookup.ts"
import { checked, type Lookup, make, succeeding } from "../support/ScriptedProvider.ts"

/** A decorated vendor whose answers the test sets. Figures live for a day. */
const setUp = (
  cache: Partial<Composed.Options["cache"]> = {},
  options: Partial<Composed.Options> = {},
) =>
  Effect.gen(function* () {
    let answer = succeeding
    const vendor = make((targets) => answer(targets))
    const context = yield* Layer.build(
      Composed.decorated(vendor.layer, {
        timeout: "1 second",
        concurrency: 1,
        ...options,
        cache: { ttl: Duration.days(1), capacity: 100, ...cache },
      }).pipe(Layer.provide([yield* storeOf, MemoryPurchases.layer])),
    )
    const provider = Context.get(context, MetricsProvider)
    return {
      provider,
      calls: vendor.calls,
      prospects: (...urls: ReadonlyArray<string>) => prospectsOf(provider, targets(...urls)),
      answerWith: (lookup: Lookup) => {
        answer = lookup
      },
      lookup: (maxAge: Duration.DurationInput, ...urls: ReadonlyArray<string>) =>
        inTwoSeconds(
          Effect.provideService(
            provider.lookup(targets(...urls)),
            Freshness,
            Duration.toMillis(maxAge),
          ),
        ),
    }
  })

/** The store of the test, or else an empty one. */
const storeOf = Effect.map(
  Effect.serviceOption(MetricsCache),
  Option.match({
    onNone: () => MemoryMetricsCache.layer,
    onSome: (store) => Layer.succeed(MetricsCache, store),
  }),
)

const inTwoSeconds = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.fork(effect).pipe(
    Effect.tap(TestClock.adjust("2 seconds")),
    Effect.flatMap((fiber) => fiber),
  )

const summary = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map((outcome) =>
    outcome._tag === "Checked" ? (outcome.source ?? "bought") : outcome.cause,
  )

const refusing: Lookup = () =>
  new ProviderError({ provider: "scripted", reason: "Refused", detail: "no" })

const notKnowing: Lookup = (targets) =>
  Effect.succeed(targets.map(() => providerFailed("no such host", "unknown")))

describe("the age that a client accepts", () => {
  it.scoped("older figures are bought anew, and younger ones are not", () =>
    Effect.gen(function* () {
      const { calls, lookup, prospects } = yield* setUp()
      yield* lookup(Duration.infinity, "example.com")
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(summary(yield* lookup("1 hour", "example.com")), ["known"])
      const aMinute = Effect.provideService(Freshness, 60_000)
      assert.deepStrictEqual(yield* aMinute(prospects("example.com")), ["asked"])
      const [anew] = yield* lookup("1 minute", "example.com", "example.org")
      assert.deepInclude(anew, { _tag: "Checked" })
      assert.deepStrictEqual(calls, [["example.com/"], ["example.com/", "example.org/"]])
      assert.deepStrictEqual(summary(yield* lookup("1 minute", "example.com")), ["known"])
    }),
  )

  it.scoped("figures below the operator's least age are not bought anew", () =>
    Effect.gen(function* () {
      const { calls, lookup } = yield* setUp({ minAge: "1 hour" })
      yield* lookup(0, "example.com")
      yield* TestClock.adjust("50 minutes")
      assert.deepStrictEqual(summary(yield* lookup(0, "example.com")), ["known"])
      yield* TestClock.adjust("10 minutes")
      yield* lookup(0, "example.com")
      assert.lengthOf(calls, 2)
    }),
  )

  it.scoped("the cache's lifetime holds for a client that accepts more", () =>
    Effect.gen(function* () {
      const { calls, lookup } = yield* setUp()
      yield* lookup("7 days", "example.com")
      yield* TestClock.adjust("1 day")
      yield* lookup("7 days", "example.com")
      assert.lengthOf(calls, 2)
    }),
  )
})

describe("stale figures when the vendor fails", () => {
  it.scoped(
    "kept figures answer up to the set time past their lifetime, and say that they are stale",
    () =>
      Effect.gen(function* () {
        const { answerWith, lookup } = yield* setUp({ staleIfError: "1 day" })
        yield* lookup(Duration.infinity, "example.com")
        answerWith(refusing)
        yield* TestClock.adjust("47 hours")
        const [stale, missing] = yield* lookup(Duration.infinity, "example.com", "example.org")
        assert.deepInclude(stale, { ...checked(), provider: "scripted", source: "stale" })
        assert.deepInclude(missing, { _tag: "Failed", cause: "failed" })
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(summary(yield* lookup(Duration.infinity, "example.com")), ["failed"])
      }),
  )

  it.scoped("a target that the vendor no longer knows gets no stale figures", () =>
    Effect.gen(function* () {
      const { answerWith, lookup } = yield* setUp({ staleIfError: "1 day" })
      yield* lookup(Duration.infinity, "example.com")
      answerWith(notKnowing)
      yield* TestClock.adjust("25 hours")
      assert.deepStrictEqual(summary(yield* lookup(Duration.infinity, "example.com")), ["unknown"])
    }),
  )

  it.scoped("without the setting, no figures past their lifetime answer", () =>
    Effect.gen(function* () {
      const { answerWith, lookup } = yield* setUp()
      yield* lookup(Duration.infinity, "example.com")
      answerWith(refusing)
      yield* TestClock.adjust("24 hours")
      assert.deepStrictEqual(summary(yield* lookup(Duration.infinity, "example.com")), ["failed"])
    }),
  )
})

describe("a target that the vendor does not know", () => {
  it.scoped(
    "the vendor is not asked for it again for an hour, whatever age the client accepts",
    () =>
      Effect.gen(function* () {
        const { answerWith, calls, lookup, prospects } = yield* setUp()
        answerWith(notKnowing)
        assert.deepStrictEqual(summary(yield* lookup(0, "example.com")), ["unknown"])
        yield* TestClock.adjust("59 minutes")
        assert.deepStrictEqual(summary(yield* lookup(0, "example.com")), ["unknown"])
        assert.deepStrictEqual(yield* prospects("example.org", "example.com"), ["asked", "failed"])
        assert.lengthOf(calls, 1)
        answerWith(succeeding)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(summary(yield* lookup(0, "example.com")), ["bought"])
      }),
  )

  it.scoped("a time to live of 0 remembers nothing", () =>
    Effect.gen(function* () {
      const { answerWith, calls, lookup } = yield* setUp({}, { unknownTtl: 0 })
      answerWith(notKnowing)
      yield* lookup(0, "example.com")
      yield* lookup(0, "example.com")
      assert.lengthOf(calls, 2)
    }),
  )

  it.scoped("in a chain, a target is known only when no provider would be asked for it", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* setUp(), yield* setUp()]
      const chain = Fallback.make([first.provider, second.provider])
      const lookup = (...urls: ReadonlyArray<string>) =>
        inTwoSeconds(chain.lookup(targets(...urls)))
      const prospects = prospectsOf(chain, targets("example.com", "example.org", "example.net"))
      first.answerWith(notKnowing)
      yield* first.lookup(0, "example.com", "example.org")
      assert.deepStrictEqual(yield* prospects, ["asked", "asked", "asked"])
      second.answerWith(notKnowing)
      yield* lookup("example.com")
      second.answerWith(succeeding)
      yield* lookup("example.org")
      assert.deepStrictEqual(yield* prospects, ["failed", "known", "asked"])
      assert.deepStrictEqual(second.calls, [["example.com/"], ["example.org/"]])
      assert.deepStrictEqual(summary(yield* lookup("example.com", "example.org")), [
        "unknown",
        "known",
      ])
      assert.lengthOf(second.calls, 2)
    }),
  )

  it("a target that the vendor refused is forgotten when the vendor was at fault, and one that it does not know is not", () => {
    const blame = new Blame(40, "1 hour")
    const unknown = providerFailed("no such host", "unknown")
    blame.remember("unknown.com/", unknown, 0)
    blame.answered("other", 0)
    blame.refused("refused.com/", "Rejected", "account", 0)
    assert.strictEqual(blame.rememberedOutcome("unknown.com/", 1), unknown)
    assert.nestedPropertyVal(blame.rememberedOutcome("refused.com/", 1), "cause", "failed")
    blame.forget()
    assert.strictEqual(blame.rememberedOutcome("unknown.com/", 1), unknown)
    assert.isUndefined(blame.rememberedOutcome("refused.com/", 1))
  })
})

describe("a lookup that misses a target in the cache just before a call fetches it", () => {
  it.scoped("gets the figures, also when the call for its other targets fails", () =>
    Effect.gen(function* () {
      const store = yield* MetricsCache
      const slow = {
        ...store,
        get: (...args: Parameters<typeof store.get>) => Effect.delay(store.get(...args), 100),
      }
      const { answerWith, calls, provider } = yield* Effect.provideService(
        setUp(),
        MetricsCache,
        slow,
      )
      answerWith((targets) => Effect.delay(succeeding(targets), 50))
      yield* Effect.fork(provider.lookup(targets("example.com")))
      yield* TestClock.adjust("60 millis")
      const late = yield* Effect.fork(provider.lookup(targets("example.com", "example.org")))
      yield* TestClock.adjust("95 millis")
      answerWith(refusing)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(summary(yield* late), ["known", "failed"])
      assert.deepStrictEqual(calls, [["example.com/"], ["example.org/"]])
    }).pipe(Effect.provide(MemoryMetricsCache.layer)),
  )
})
