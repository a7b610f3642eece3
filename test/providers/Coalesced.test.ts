import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { AccountId, CurrentAccount } from "../../src/Account.ts"
import { Deadline } from "../../src/Deadline.ts"
import { Blame } from "../../src/providers/Blame.ts"
import { Limit } from "../../src/providers/Limit.ts"
import * as Coalesced from "../../src/providers/Coalesced.ts"
import { tags, targets } from "../support/lookup.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"
import { settable } from "../support/SettableClock.ts"

const { after, checked, right } = ScriptedVendor

const setUp = (options: Partial<Coalesced.Options> & { readonly batchSize?: number } = {}) =>
  Effect.gen(function* () {
    const vendor = ScriptedVendor.make({ batchSize: options.batchSize ?? 50 })
    const provider = yield* Coalesced.make(vendor.provider, {
      window: "2 millis",
      limit: new Limit(4),
      lineCapacity: 100,
      blame: new Blame(),
      ...options,
    })
    const ask = (...urls: ReadonlyArray<string>) => Effect.fork(provider.lookup(targets(...urls)))
    return { vendor, provider, ask }
  })

const pages = (prefix: string, count: number) =>
  Arr.makeBy(count, (i) => `${prefix}.example.com/${i}`)

describe("sharing vendor calls", () => {
  it.scoped("concurrent requests for one target share one vendor call", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp()
      vendor.always(after("1 second"))
      const early = yield* Effect.replicateEffect(ask("example.com"), 3)
      yield* TestClock.adjust("500 millis")
      const late = yield* ask("example.com", "example.org")
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(
        yield* Fiber.join(Fiber.all(early)),
        Arr.replicate([checked("example.com/")], 3),
      )
      assert.deepStrictEqual(yield* late, ["example.com/", "example.org/"].map(checked))
      assert.deepStrictEqual(vendor.calls, [["example.com/"], ["example.org/"]])
    }),
  )

  it.scoped(
    "a full vendor call is sent immediately, and a call with fewer targets after a short wait",
    () =>
      Effect.gen(function* () {
        const { ask, vendor } = yield* setUp({ batchSize: 3 })
        const first = yield* ask("example.com/1", "example.com/2")
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(vendor.calls, [])
        const second = yield* ask("example.com/3")
        yield* second
        yield* first
        assert.deepStrictEqual(vendor.calls, [["example.com/1", "example.com/2", "example.com/3"]])
        const third = yield* ask("example.com/4")
        yield* TestClock.adjust("2 millis")
        yield* third
        assert.lengthOf(vendor.calls, 2)
      }),
  )

  it.scoped("vendor calls respect the limits for concurrent calls and for targets per call", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp({ batchSize: 10, limit: new Limit(2) })
      vendor.always(after("1 second"))
      const asking = yield* ask(...pages("a", 35))
      yield* TestClock.adjust("900 millis")
      assert.lengthOf(vendor.calls, 2)
      yield* TestClock.adjust("1200 millis")
      assert.lengthOf(vendor.calls, 4)
      assert.deepStrictEqual(
        vendor.calls.map((call) => call.length),
        [10, 10, 10, 5],
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* asking, pages("a", 35).map(checked))
    }),
  )
})

describe("interruption, deadline and closing", () => {
  it.scoped("an interrupted request does not affect another request for the same target", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp()
      vendor.always(after("1 second"))
      const leaves = yield* ask("example.com", "example.org")
      const stays = yield* ask("example.com")
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interrupt(leaves)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* stays, [checked("example.com/")])
      assert.lengthOf(vendor.calls, 1)
    }),
  )

  it.scoped(
    "a queued target is not sent to the vendor if no request waits for the target any more",
    () =>
      Effect.gen(function* () {
        const { ask, vendor } = yield* setUp({ limit: new Limit(1) })
        vendor.always(after("1 second"))
        const first = yield* ask("example.com")
        yield* TestClock.adjust("10 millis")
        const leaves = yield* ask("dropped.example.com", "kept.example.com")
        const stays = yield* ask("kept.example.com")
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(leaves)
        yield* TestClock.adjust("3 seconds")
        yield* first
        yield* stays
        assert.deepStrictEqual(vendor.calls, [["example.com/"], ["kept.example.com/"]])
      }),
  )

  it.scoped(
    "of two requests for the same targets, the request with the earlier deadline gets the outcomes that are known at that deadline, and the other request gets all outcomes",
    () =>
      Effect.gen(function* () {
        const { provider, vendor } = yield* setUp({ batchSize: 1 })
        vendor.script(right, after("1 minute"))
        const asking = (deadline: number) =>
          provider
            .lookup(targets("example.com", "slow.example.org"))
            .pipe(Effect.provideService(Deadline, deadline), Effect.fork)
        const hasty = yield* asking(5000)
        const patient = yield* asking(90_000)
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(tags(yield* hasty), ["ok", "PROVIDER_ERROR"])
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(tags(yield* patient), ["ok", "ok"])
        assert.lengthOf(vendor.calls, 2)
      }),
  )

  it.scoped("the deadline of a lookup is not delayed when the clock is set back", () =>
    Effect.gen(function* () {
      const { adjust, clock, putBack } = yield* settable
      yield* Effect.gen(function* () {
        const { provider, vendor } = yield* setUp()
        vendor.always(ScriptedVendor.hang)
        const deadline = (yield* Clock.currentTimeMillis) + 5000
        const fiber = yield* provider
          .lookup(targets("example.com"))
          .pipe(Effect.provideService(Deadline, deadline), Effect.fork)
        yield* adjust("1 second")
        putBack("1 hour")
        yield* adjust("4 seconds")
        assert.deepStrictEqual(tags(yield* fiber), ["PROVIDER_ERROR"])
      }).pipe(Effect.withClock(clock))
    }),
  )

  it.scoped("waiting lookups get SERVER_ERROR when the provider closes", () =>
    Effect.gen(function* () {
      const asking = yield* Effect.scoped(
        Effect.gen(function* () {
          const { provider, vendor } = yield* setUp({ limit: new Limit(1), batchSize: 1 })
          vendor.always(ScriptedVendor.hang)
          const fiber = yield* Effect.forkDaemon(
            provider.lookup(targets("example.com", "example.org")),
          )
          yield* TestClock.adjust("1 second")
          return fiber
        }),
      )
      assert.deepStrictEqual(tags(yield* asking), ["SERVER_ERROR", "SERVER_ERROR"])
    }),
  )

  it.effect("a lookup after the provider has closed gets SERVER_ERROR immediately", () =>
    Effect.gen(function* () {
      const { provider, vendor } = yield* Effect.scoped(setUp())
      assert.deepStrictEqual(tags(yield* provider.lookup(targets("example.com"))), ["SERVER_ERROR"])
      assert.deepStrictEqual(vendor.calls, [])
    }),
  )

  it.scoped(
    "a lookup ends at its own deadline even if an earlier lookup has a later deadline",
    () =>
      Effect.gen(function* () {
        const { provider, vendor } = yield* setUp()
        vendor.always(ScriptedVendor.hang)
        const ended: Array<number> = []
        for (const deadline of [9000, 3000, 6000]) {
          const asking = provider.lookup(targets("example.com"))
          yield* asking.pipe(
            Effect.provideService(Deadline, deadline),
            Effect.zipRight(Effect.sync(() => ended.push(deadline))),
            Effect.fork,
          )
          yield* TestClock.adjust("1 second")
        }
        assert.deepStrictEqual(ended, [3000])
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual(ended, [3000, 6000])
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual(ended, [3000, 6000, 9000])
        assert.lengthOf(vendor.calls, 1)
      }),
  )
})

describe("failed vendor calls", () => {
  it.scoped("a failed vendor call fails only its own targets, and the next call is sent", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp()
      vendor.script(ScriptedVendor.fails("Unavailable"), ScriptedVendor.bug, ScriptedVendor.short)
      const outcomes: Array<ReadonlyArray<string>> = []
      for (let i = 0; i < 4; i++) {
        const asking = yield* ask("example.com", "example.org")
        yield* TestClock.adjust("2 millis")
        outcomes.push(tags(yield* asking))
      }
      assert.deepStrictEqual(outcomes, [
        ["PROVIDER_ERROR", "PROVIDER_ERROR"],
        ["SERVER_ERROR", "SERVER_ERROR"],
        ["ok", "PROVIDER_ERROR"],
        ["ok", "ok"],
      ])
    }),
  )
})

describe("fairness between accounts", () => {
  const on = (name: string) => Effect.provideService(CurrentAccount, AccountId.make(name))

  it.scoped(
    "a large request of one account does not delay a small request of another account",
    () =>
      Effect.gen(function* () {
        const { provider, vendor } = yield* setUp({ batchSize: 4, limit: new Limit(1) })
        vendor.always(after("1 second"))
        const greedy = yield* Effect.fork(provider.lookup(targets(...pages("a", 40))).pipe(on("a")))
        yield* TestClock.adjust("10 millis")
        const modest = yield* Effect.fork(provider.lookup(targets(...pages("b", 4))).pipe(on("b")))
        yield* TestClock.adjust("3100 millis")
        assert.deepStrictEqual(tags(yield* modest), ["ok", "ok", "ok", "ok"])
        assert.lengthOf(
          vendor.calls
            .slice(1, 3)
            .flat()
            .filter((page) => page.startsWith("b")),
          4,
        )
        yield* TestClock.adjust("20 seconds")
        yield* greedy
      }),
  )

  it.scoped(
    "an account whose calls the vendor does not answer leaves a spare call to other accounts",
    () =>
      Effect.gen(function* () {
        const { provider, vendor } = yield* setUp({ batchSize: 2, limit: new Limit(5) })
        vendor.always((asked) =>
          asked.some(({ page }) => page.startsWith("stuck"))
            ? ScriptedVendor.hang(asked)
            : right(asked),
        )
        const ask = (account: string, prefix: string, count: number) =>
          Effect.fork(provider.lookup(targets(...pages(prefix, count))).pipe(on(account)))
        yield* ask("a", "stuck", 20)
        yield* TestClock.adjust("500 millis")
        const early = yield* ask("b", "early", 1)
        yield* TestClock.adjust("400 millis")
        assert.lengthOf(vendor.calls, 4)
        yield* TestClock.adjust("200 millis")
        assert.deepStrictEqual(tags(yield* early), ["ok"])
        const late = yield* ask("c", "late", 4)
        yield* TestClock.adjust("10 millis")
        assert.deepStrictEqual(tags(yield* late), ["ok", "ok", "ok", "ok"])
        assert.deepStrictEqual(vendor.calls.slice(4).flat(), [
          ...pages("early", 1),
          ...pages("late", 4),
        ])
      }),
  )

  it.scoped(
    "targets beyond an account's queue capacity fail, and other accounts are unaffected",
    () =>
      Effect.gen(function* () {
        const { provider } = yield* setUp({ lineCapacity: 3 })
        const a = yield* Effect.fork(provider.lookup(targets(...pages("a", 5))).pipe(on("a")))
        const b = yield* Effect.fork(provider.lookup(targets(...pages("b", 3))).pipe(on("b")))
        yield* TestClock.adjust("2 millis")
        assert.deepStrictEqual(tags(yield* a), ["ok", "ok", "ok", "SERVER_ERROR", "SERVER_ERROR"])
        assert.deepStrictEqual(tags(yield* b), ["ok", "ok", "ok"])
      }),
  )
})
