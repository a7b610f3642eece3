import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { AccountId, CurrentAccount } from "../../src/Account.ts"
import { Deadline } from "../../src/Deadline.ts"
import * as MemoryMetricsCache from "../../src/memory/MetricsCache.ts"
import * as MemoryPurchases from "../../src/memory/Purchases.ts"
import { MetricsProvider } from "../../src/MetricsProvider.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { tags, targets } from "../support/lookup.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"

const { after, fails, hang, right } = ScriptedVendor

const composed = () => {
  const vendor = ScriptedVendor.make({ batchSize: 50 })
  const layer = Composed.decorated(Layer.succeed(MetricsProvider, vendor.provider), {
    timeout: "10 seconds",
    concurrency: 4,
    cache: { ttl: Duration.hours(24), capacity: 1000 },
  }).pipe(Layer.provide([MemoryMetricsCache.layer, MemoryPurchases.layer]))
  return { layer, vendor }
}

/** A vendor that fails each call with a target of evil.example, and answers all other calls. */
const failsForEvil = (fault: ScriptedVendor.Step) => {
  const composition = composed()
  composition.vendor.always((targets) =>
    targets.some(({ host }) => host.endsWith("evil.example.com"))
      ? after("20 millis", fault)(targets)
      : after("20 millis", right)(targets),
  )
  return composition
}

const ask = (account: string, ...urls: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const provider = yield* MetricsProvider
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    return yield* provider
      .lookup(targets(...urls))
      .pipe(
        Effect.provideService(CurrentAccount, AccountId.make(account)),
        Effect.provideService(Deadline, now + 30_000),
      )
  })

/** Asks and lets `time` pass. Returns the tags of the outcomes. */
const asked = (time: Duration.DurationInput, account: string, ...urls: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(ask(account, ...urls))
    yield* TestClock.adjust(time)
    return tags(yield* fiber)
  })

const faults: Record<string, ScriptedVendor.Step> = {
  Rejected: fails("Rejected"),
  Refused: fails("Refused"),
  Unavailable: fails("Unavailable"),
  Malformed: fails("Malformed"),
  Throttled: fails("Throttled"),
  Unreachable: fails("Unreachable"),
  "no answer": hang,
}

describe("accounts ask for targets for which the vendor fails", () => {
  const attacks = Object.entries(faults).flatMap(([name, fault]) =>
    (name === "Rejected" ? [1, 2, 3] : [3]).map((attackers) => ({ name, fault, attackers })),
  )
  for (const { attackers, fault, name } of attacks) {
    it.scoped(
      `at least 95 % of the other accounts' lookups are answered (${name}, attackers: ${attackers})`,
      () => {
        const { layer } = failsForEvil(fault)
        return Effect.gen(function* () {
          yield* asked("1 second", "honest-0", "example.org")
          const honest: Array<Fiber.RuntimeFiber<ReadonlyArray<string>, unknown>> = []
          for (let i = 0; i < 120; i++) {
            for (let by = 0; by < attackers; by++) {
              const evil = Arr.makeBy(5, (at) => `${i}-${at}-${by}.evil.example.com`)
              yield* Effect.fork(ask(`evil-${by}`, ...evil))
            }
            const page = `honest-${i}.example.org`
            honest.push(yield* Effect.fork(Effect.map(ask(`honest-${i % 4}`, page), tags)))
            yield* TestClock.adjust("50 millis")
          }
          yield* TestClock.adjust("1 minute")
          const answers = yield* Effect.forEach(honest, Fiber.join)
          const served = answers.filter(([tag]) => tag === "ok").length
          assert.isAtLeast(served / answers.length, 0.95)
        }).pipe(Effect.provide(layer))
      },
    )
  }

  it.scoped("after 20 failed calls in five minutes, the account is not asked for anew", () => {
    const { layer, vendor } = failsForEvil(fails("Rejected"))
    return Effect.gen(function* () {
      const evilCalls = () =>
        vendor.calls.filter((pages) => pages.some((page) => page.includes("evil"))).length
      for (let i = 0; i < 40; i++) {
        yield* asked("1 second", "honest", `${i}.example.org`)
        yield* asked("1 second", "evil", `${i}.evil.example.com`)
      }
      assert.strictEqual(evilCalls(), 20)
      assert.deepStrictEqual(yield* asked("1 second", "evil", "1.example.org"), ["ok"])
      assert.deepStrictEqual(yield* asked("1 second", "evil", "new.example.org"), [
        "PROVIDER_ERROR",
      ])
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(yield* asked("1 second", "evil", "new.example.org"), ["ok"])
    }).pipe(Effect.provide(layer))
  })

  it.scoped("a target that was refused alone is not asked again for ten minutes", () => {
    const { layer, vendor } = failsForEvil(fails("Rejected"))
    return Effect.gen(function* () {
      const ofEvil = () => vendor.calls.filter(([page]) => page?.includes("evil")).length
      yield* asked("1 second", "honest", "example.org")
      yield* asked("1 second", "a", "evil.example.com")
      yield* asked("1 second", "b", "evil.example.com")
      assert.strictEqual(ofEvil(), 1)
      yield* TestClock.adjust("10 minutes")
      yield* asked("1 second", "b", "evil.example.com")
      assert.strictEqual(ofEvil(), 2)
    }).pipe(Effect.provide(layer))
  })

  it.scoped("the other targets of a rejected call are found by halving, with few refusals", () => {
    const { layer, vendor } = failsForEvil(fails("Rejected"))
    return Effect.gen(function* () {
      const good = Arr.makeBy(49, (i) => `example.org/${i}`)
      const outcomes = yield* asked("5 seconds", "a", ...good, "evil.example.com")
      assert.deepStrictEqual(outcomes, [...good.map(() => "ok"), "PROVIDER_ERROR"])
      const refusals = vendor.calls.filter((pages) => pages.some((page) => page.includes("evil")))
      assert.isAtMost(refusals.length, 7)
    }).pipe(Effect.provide(layer))
  })

  it.scoped("at most 12 calls are refused for one original call", () => {
    const { layer, vendor } = failsForEvil(fails("Rejected"))
    return Effect.gen(function* () {
      const evil = Arr.makeBy(50, (i) => `${i}.evil.example.com`)
      assert.deepStrictEqual(
        new Set(yield* asked("5 seconds", "a", ...evil)),
        new Set(["PROVIDER_ERROR"]),
      )
      assert.isAtMost(vendor.calls.length, 12)
    }).pipe(Effect.provide(layer))
  })
})

describe("a vendor that fails for everybody", () => {
  it.scoped("the circuit opens, and no account is blocked after the vendor answers again", () => {
    const { layer, vendor } = composed()
    return Effect.gen(function* () {
      for (const account of ["a", "b", "c"])
        yield* asked("1 second", account, `${account}.example.org`)
      vendor.always(fails("Unavailable"))
      for (let i = 0; i < 10; i++) {
        for (const account of ["a", "b", "c"]) {
          yield* asked("3 seconds", account, `${account}-${i}.example.org`)
        }
      }
      const { circuits = Effect.succeed([]) } = yield* MetricsProvider
      assert.match(String((yield* circuits)[0]?.openReason), /calls in a row have failed/)
      vendor.always(right)
      yield* TestClock.adjust("15 seconds")
      for (const account of ["a", "b", "c"]) {
        assert.deepStrictEqual(yield* asked("1 second", account, `${account}-0.example.org`), [
          "ok",
        ])
      }
    }).pipe(Effect.provide(layer))
  })

  it.scoped("nobody is blamed for a used-up quota", () => {
    const { layer, vendor } = composed()
    const both = Effect.gen(function* () {
      const a = yield* Effect.fork(ask("a", "a.example.org"))
      const b = yield* Effect.fork(ask("b", "b.example.org"))
      yield* TestClock.adjust("1 second")
      return [...tags(yield* a), ...tags(yield* b)]
    })
    return Effect.gen(function* () {
      for (const account of ["a", "b"]) yield* asked("1 second", account, "example.org")
      vendor.always(fails("Exhausted"))
      for (let i = 0; i < 30; i++) {
        assert.deepStrictEqual(yield* both, ["PROVIDER_ERROR", "PROVIDER_ERROR"])
      }
      vendor.always(right)
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* both, ["ok", "ok"])
      // The accounts still share a call, because none was set apart.
      assert.deepStrictEqual(vendor.calls.at(-1), ["a.example.org/", "b.example.org/"])
    }).pipe(Effect.provide(layer))
  })

  it.scoped("the circuit opens when one account is the only one", () => {
    const { layer, vendor } = composed()
    return Effect.gen(function* () {
      yield* asked("1 second", "a", "example.org")
      vendor.always(fails("Unavailable"))
      for (let i = 0; i < 3; i++) yield* asked("5 seconds", "a", `${i}.example.org`)
      const { circuits = Effect.succeed([]) } = yield* MetricsProvider
      assert.match(String((yield* circuits)[0]?.openReason), /calls in a row have failed/)
    }).pipe(Effect.provide(layer))
  })
})
