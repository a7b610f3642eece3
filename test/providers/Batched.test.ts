import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { LookupContext, ProviderError } from "../../src/providers/MetricsProvider.ts"
import * as Batched from "../../src/providers/Batched.ts"
import * as Resilient from "../../src/providers/Resilient.ts"
import * as MonotonicClock from "../../src/check/MonotonicClock.ts"
import { context, tags, targets } from "../support/lookup.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"
import { runInVirtualTime } from "../support/virtualTime.ts"

const { after, checked, fails, hang, lacks, right } = ScriptedVendor

interface Options extends Partial<Batched.Options> {
  readonly batchSize?: number
  readonly billsUnknown?: boolean
}

const setUp = ({ batchSize = 50, billsUnknown = false, ...options }: Options = {}) =>
  Effect.gen(function* () {
    const vendor = ScriptedVendor.make({ batchSize, billsUnknown })
    const queue = { concurrency: 4, unknownTtl: "1 hour", ...options } as const
    const resilient = Resilient.make(vendor.vendor, { ...queue, timeout: "10 seconds" })
    const provider = yield* Batched.make(resilient, queue)
    const ask = (urls: ReadonlyArray<string>, more: Partial<LookupContext> = {}) =>
      Effect.fork(provider.lookup(targets(...urls), context(more)))
    const asked = (urls: ReadonlyArray<string>, more: Partial<LookupContext> = {}) =>
      Effect.map(provider.lookup(targets(...urls), context(more)), tags)
    return { vendor, provider, ask, asked }
  })

/** Runs a test in virtual time. */
const test = (name: string, effect: () => Effect.Effect<void, ProviderError, Scope.Scope>) =>
  it(name, () => runInVirtualTime(quiet(effect())))

const quiet = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) =>
  effect.pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.Warning))

const pages = (prefix: string, count: number) =>
  Arr.makeBy(count, (i) => `${prefix}.example.com/${i}`)

/** Collects the lines of the log. */
const warnings = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(message)))
  return { lines, layer: Logger.replace(Logger.defaultLogger, logger) }
}

describe("sharing vendor calls between requests", () => {
  test("a vendor is asked only once for a target that several requests wait for", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp()
      vendor.always(after("1 second"))
      const early = yield* Effect.replicateEffect(ask(["example.com"]), 3)
      yield* Effect.sleep("500 millis")
      const late = yield* ask(["example.com", "example.org"], { account: "b" })
      yield* Effect.sleep("2 seconds")
      const answers = yield* Fiber.join(Fiber.all(early))
      assert.deepStrictEqual(answers, Arr.replicate([checked("example.com/")], 3))
      assert.deepStrictEqual(yield* late, ["example.com/", "example.org/"].map(checked))
      assert.deepStrictEqual(vendor.calls, [["example.com/"], ["example.org/"]])
    }))

  test("targets of several requests share calls up to the vendor's batch size", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp({ batchSize: 10, concurrency: 2 })
      vendor.always(after("1 second"))
      const a = yield* ask(pages("a", 17))
      const b = yield* ask(pages("b", 18), { account: "b" })
      yield* Effect.sleep("900 millis")
      assert.lengthOf(vendor.calls, 2)
      yield* Effect.sleep("1200 millis")
      assert.deepStrictEqual(
        vendor.calls.map((call) => call.length),
        [10, 10, 10, 5],
      )
      yield* Effect.sleep("1 second")
      assert.deepStrictEqual(yield* a, pages("a", 17).map(checked))
      assert.deepStrictEqual(yield* b, pages("b", 18).map(checked))
    }))

  test("accounts take turns: a large request does not delay a small one", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp({ batchSize: 4, concurrency: 1 })
      vendor.always(after("1 second"))
      yield* ask(pages("a", 40))
      yield* Effect.sleep("10 millis")
      const small = yield* ask(pages("b", 4), { account: "b" })
      yield* Effect.sleep("3100 millis")
      assert.deepStrictEqual(tags(yield* small), ["ok", "ok", "ok", "ok"])
    }))

  it("a lookup does not inherit the timeout of another one, even when the queue yields", () => {
    const lookups = Effect.gen(function* () {
      const { ask, asked } = yield* setUp({ batchSize: 50 })
      for (const turns of Arr.range(0, 20)) {
        const urls = pages(`turn-${turns}`, 50)
        yield* ask(urls, { deadline: 0 })
        yield* Effect.repeatN(Effect.yieldNow(), turns)
        assert.deepStrictEqual(yield* asked(urls.slice(-1)), ["ok"])
      }
    })
    runInVirtualTime(quiet(lookups), 100)
  })

  test("a caller leaves a shared call at its deadline, and the call continues for the others", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp()
      vendor.always(after("8 seconds"))
      const hasty = yield* ask(["example.com"], { deadline: 5000 })
      const patient = yield* ask(["example.com"], { deadline: 9000 })
      const gone = yield* ask(["example.com"])
      yield* Effect.sleep("5 seconds")
      assert.deepStrictEqual(tags(yield* hasty), ["PROVIDER_ERROR"])
      yield* Fiber.interrupt(gone)
      yield* Effect.sleep("4 seconds")
      assert.deepStrictEqual(tags(yield* patient), ["ok"])
      assert.lengthOf(vendor.calls, 1)
    }))

  test("a target whose deadline passes while it is queued is not sent", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp({ concurrency: 1 })
      vendor.always(after("2 seconds"))
      yield* ask(["first.example.com"])
      yield* Effect.sleep("10 millis")
      const late = yield* ask(["late.example.com"], { deadline: 1000 })
      yield* Effect.sleep("1 minute")
      assert.deepStrictEqual(tags(yield* late), ["PROVIDER_ERROR"])
      assert.deepStrictEqual(vendor.calls, [["first.example.com/"]])
    }))

  test("an account's targets beyond 10,000 in the queue fail, and other accounts' targets do not", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp({ concurrency: 1, batchSize: 1 })
      vendor.always(hang)
      yield* ask(pages("a", 10_000))
      const more = yield* ask(["a.example.org"])
      assert.deepStrictEqual(tags(yield* more), ["SERVER_ERROR"])
      const other = yield* ask(["b.example.org"], { account: "b" })
      yield* Effect.sleep("20 millis")
      assert.isTrue(Option.isNone(yield* Fiber.poll(other)))
    }))
})

describe("failed vendor calls", () => {
  for (const reason of ["Unreachable", "Timeout", "Throttled", "Unavailable"] as const) {
    test(`a vendor call is repeated after ${reason}, with at most four attempts in all`, () =>
      Effect.gen(function* () {
        const { asked, vendor } = yield* setUp()
        vendor.script(fails(reason), fails(reason), fails(reason))
        assert.deepStrictEqual(yield* asked(["example.com"]), ["ok"])
        vendor.script(fails(reason), fails(reason), fails(reason), fails(reason))
        assert.deepStrictEqual(yield* asked(["example.org"]), ["PROVIDER_ERROR"])
        assert.lengthOf(vendor.calls, 8)
      }))
  }

  for (const reason of ["Refused", "Malformed", "Exhausted"] as const) {
    test(`a vendor call is not repeated after ${reason}`, () =>
      Effect.gen(function* () {
        const { asked, vendor } = yield* setUp()
        vendor.script(fails(reason))
        assert.deepStrictEqual(yield* asked(["example.com"]), ["PROVIDER_ERROR"])
        assert.lengthOf(vendor.calls, 1)
      }))
  }

  test("a vendor call is not repeated after the deadline", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp()
      vendor.always(after("900 millis", fails("Unavailable")))
      const asking = yield* ask(["example.com"], { deadline: 1000 })
      yield* Effect.sleep("950 millis")
      assert.deepStrictEqual(tags(yield* asking), ["PROVIDER_ERROR"])
      yield* Effect.sleep("1 minute")
      assert.lengthOf(vendor.calls, 1)
    }))

  test("a failed vendor call for two accounts is repeated separately for each account", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp()
      vendor.script(fails("Unavailable"))
      const a = yield* ask(["a.example.com"])
      const b = yield* ask(["b.example.com"], { account: "b" })
      yield* Effect.sleep("1 second")
      assert.deepStrictEqual([...tags(yield* a), ...tags(yield* b)], ["ok", "ok"])
      const owners = vendor.contexts.map(({ account }) => account)
      assert.sameMembers(
        owners.slice(1).flatMap((owner) => owner ?? []),
        ["a", "b"],
      )
    }))

  test("a bug in an adapter fails its targets with SERVER_ERROR, and the queue continues", () =>
    Effect.gen(function* () {
      const { asked, vendor } = yield* setUp()
      vendor.script(ScriptedVendor.bug, ScriptedVendor.short)
      assert.deepStrictEqual(yield* asked(["example.com"]), ["SERVER_ERROR"])
      assert.deepStrictEqual(yield* asked(["a.com", "b.com"]), ["ok", "PROVIDER_ERROR"])
    }))

  test("a vendor's Retry-After is obeyed: nothing is sent earlier, and then the call succeeds", () =>
    Effect.gen(function* () {
      const { ask, vendor } = yield* setUp()
      vendor.script(fails("Throttled", Duration.seconds(20)))
      const first = yield* ask(["example.com"])
      yield* Effect.sleep("1 second")
      const second = yield* ask(["example.org"], { account: "b" })
      yield* Effect.sleep("18 seconds")
      assert.lengthOf(vendor.calls, 1)
      yield* Effect.sleep("3 seconds")
      assert.deepStrictEqual([...tags(yield* first), ...tags(yield* second)], ["ok", "ok"])
    }))
})

describe("targets that the vendor refuses or does not know", () => {
  const refuses =
    (poison: string): ScriptedVendor.Step =>
    (asked) =>
      asked.some(({ page }) => page.startsWith(poison)) ? fails("Rejected")(asked) : right(asked)

  test("a refused call is halved until the bad target is found, which is remembered for an hour", () =>
    Effect.gen(function* () {
      const { asked, vendor } = yield* setUp()
      vendor.always(refuses("bad"))
      const outcomes = yield* asked(["bad.com", ...pages("good", 49)])
      assert.deepStrictEqual(outcomes, ["PROVIDER_ERROR", ...Arr.replicate("ok", 49)])
      const calls = vendor.calls.length
      assert.deepStrictEqual(yield* asked(["bad.com"]), ["PROVIDER_ERROR"])
      assert.lengthOf(vendor.calls, calls)
      yield* Effect.sleep("1 hour")
      yield* asked(["bad.com"])
      assert.lengthOf(vendor.calls, calls + 1)
    }))

  test("after an account has caused ten refused calls in five minutes, only other accounts' targets are sent", () => {
    const { layer, lines } = warnings()
    return Effect.gen(function* () {
      const { asked, vendor } = yield* setUp()
      vendor.always(refuses("bad"))
      for (let i = 0; i < 5; i++) yield* asked([`bad${i}.com`])
      yield* asked(pages("bad", 50))
      const calls = vendor.calls.length
      assert.isAtMost(calls, 10)
      assert.deepStrictEqual(yield* asked(["good.com"]), ["PROVIDER_ERROR"])
      assert.lengthOf(vendor.calls, calls)
      assert.deepStrictEqual(yield* asked(["good.com"], { account: "b" }), ["ok"])
      yield* Effect.sleep("5 minutes")
      assert.deepStrictEqual(yield* asked(["better.com"]), ["ok"])
      assert.lengthOf(
        lines.filter((line) => line.includes("refused 10 calls")),
        1,
      )
    }).pipe(Effect.provide(layer))
  })

  test("a target that the vendor does not know is looked up again after an hour", () =>
    Effect.gen(function* () {
      const { asked, provider, vendor } = yield* setUp()
      vendor.always(lacks((page) => page.startsWith("new")))
      yield* asked(["new.com"])
      yield* asked(["new.com"], { account: "b" })
      assert.lengthOf(vendor.calls, 1)
      assert.deepStrictEqual(yield* provider.prospects(targets("new.com", "old.com")), [
        "failed",
        "asked",
      ])
      yield* Effect.sleep("1 hour")
      yield* asked(["new.com"])
      assert.lengthOf(vendor.calls, 2)
    }))

  test("an account may cause 500 billed unknown targets an hour, and 10 more for each credit spent", () => {
    const { layer, lines } = warnings()
    return Effect.gen(function* () {
      const { ask, vendor } = yield* setUp({ billsUnknown: true })
      vendor.always(lacks(() => true))
      const buy = (name: string, charged = 0) =>
        Effect.gen(function* () {
          const fiber = yield* ask(pages(name, 50), { charged, account: "mean" })
          yield* Effect.sleep("1 second")
          return yield* fiber
        })
      for (let i = 0; i < 20; i++) yield* buy(`a${i}`)
      assert.lengthOf(vendor.calls.flat(), 500)
      const [outcome] = yield* buy("b")
      assert.include(outcome, { reason: "PROVIDER_ERROR" })
      assert.include(outcome?._tag === "Failed" ? outcome.detail : "", "does not know")
      yield* buy("c", 5)
      assert.lengthOf(vendor.calls.flat(), 550)
      const other = yield* ask(pages("d", 50), { account: "other" })
      yield* Effect.sleep("1 second")
      yield* other
      assert.lengthOf(vendor.calls.flat(), 600)
      assert.lengthOf(
        lines.filter((line) => line.includes("unknown URLs")),
        1,
      )
      yield* Effect.sleep("1 hour")
      yield* buy("e")
      assert.lengthOf(vendor.calls.flat(), 650)
    }).pipe(Effect.provide(layer))
  })
})

/** Counts the targets of an account that are checked in a period of virtual time. */
const load = (behave: ScriptedVendor.Step) =>
  Effect.gen(function* () {
    const { provider, vendor } = yield* setUp({ concurrency: 16 })
    vendor.always(behave)
    const counts = new Map<string, { ok: number; all: number }>()
    const ask = (account: string, urls: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const deadline = (yield* MonotonicClock.now) + 30_000
        const outcomes = yield* provider.lookup(targets(...urls), context({ account, deadline }))
        const { all, ok } = counts.get(account) ?? { all: 0, ok: 0 }
        const checked = tags(outcomes).filter((tag) => tag === "ok").length
        counts.set(account, { all: all + urls.length, ok: ok + checked })
      })
    /** A client that sends lookups at a fixed rate per second, for some seconds. */
    const client = (
      account: string,
      perSecond: number,
      seconds: number,
      urls: (i: number) => ReadonlyArray<string>,
    ) =>
      Effect.forEach(
        Arr.range(1, Math.round(perSecond * seconds)),
        (i) => Effect.zipRight(Effect.sleep(1000 / perSecond), Effect.fork(ask(account, urls(i)))),
        { discard: true },
      )
    return { client, counts, vendor }
  })

describe("one account whose targets make the vendor fail", () => {
  const poisons = { "400": fails("Rejected"), "500": fails("Unavailable"), nothing: hang }

  for (const [name, poison] of Object.entries(poisons)) {
    for (const many of [1, 50]) {
      it(`${name} for ${many} of 50 targets: other accounts still get at least 99 % of their figures`, () => {
        const counts = runInVirtualTime(
          Effect.gen(function* () {
            const { client, counts } = yield* load((asked) =>
              after(
                "120 millis",
                asked.some(({ page }) => page.startsWith("poison")) ? poison : right,
              )(asked),
            )
            const ten = (name: string) => (i: number) => pages(`${name}${i}`, 10)
            const clients = [
              client("busy", 1, 100, ten("busy")),
              client("calm", 0.1, 100, ten("calm")),
              client("offender", 5, 100, (i) => [
                ...pages(`poison${i}`, many),
                ...pages(`other${i}`, 50 - many),
              ]),
            ]
            yield* Effect.all(clients, { concurrency: "unbounded" })
            yield* Effect.sleep("1 minute")
            return counts
          }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None)),
        )
        for (const [victim, all] of Object.entries({ busy: 1000, calm: 100 })) {
          assert.strictEqual(counts.get(victim)?.all, all)
          assert.isAtLeast(counts.get(victim)?.ok ?? 0, 0.99 * all)
        }
      })
    }
  }
})
