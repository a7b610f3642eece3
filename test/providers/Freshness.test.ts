/** How old figures may be, and what answers when the vendor fails or does not know a target. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { Freshness } from "../../src/Freshness.ts"
import * as MemoryMetricsCache from "../../src/memory/MetricsCache.ts"
import { type Outcome, providerFailed } from "../../src/Metrics.ts"
import { MetricsProvider, ProviderError } from "../../src/MetricsProvider.ts"
import * as Composed from "../../src/providers/Composed.ts"
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
      }).pipe(Layer.provide(MemoryMetricsCache.layer)),
    )
    const provider = Context.get(context, MetricsProvider)
    return {
      calls: vendor.calls,
      areKnown: (...urls: ReadonlyArray<string>) =>
        provider.areKnown?.(targets(...urls)) ?? Effect.dieMessage("the method is absent"),
      answerWith: (lookup: Lookup) => {
        answer = lookup
      },
      lookup: (maxAge: Duration.DurationInput, ...urls: ReadonlyArray<string>) =>
        provider.lookup(targets(...urls)).pipe(
          Effect.provideService(Freshness, Duration.toMillis(maxAge)),
          Effect.fork,
          Effect.tap(TestClock.adjust("2 seconds")),
          Effect.flatMap((fiber) => fiber),
        ),
    }
  })

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
      const { areKnown, calls, lookup } = yield* setUp()
      yield* lookup(Duration.infinity, "example.com")
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(summary(yield* lookup("1 hour", "example.com")), ["known"])
      const aMinute = Effect.provideService(Freshness, 60_000)
      assert.deepStrictEqual(yield* aMinute(areKnown("example.com")), [false])
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
        const { answerWith, areKnown, calls, lookup } = yield* setUp()
        answerWith(notKnowing)
        assert.deepStrictEqual(summary(yield* lookup(0, "example.com")), ["unknown"])
        yield* TestClock.adjust("59 minutes")
        assert.deepStrictEqual(summary(yield* lookup(0, "example.com")), ["unknown"])
        assert.deepStrictEqual(yield* areKnown("example.org", "example.com"), [false, true])
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
})
