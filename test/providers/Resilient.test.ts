import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Resilient from "../../src/providers/Resilient.ts"
import { targets } from "../support/lookup.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"
import { runInVirtualTime } from "../support/virtualTime.ts"

const { after, fails, hang } = ScriptedVendor

const setUp = (options: Parameters<typeof ScriptedVendor.make>[0] = {}) => {
  const scripted = ScriptedVendor.make(options)
  const { circuit, vendor } = Resilient.make(scripted.vendor, {
    timeout: "10 seconds",
    concurrency: 16,
  })
  /** Makes one call, and returns `ok` or the reason why it failed. */
  const call = (account: string | undefined = "a") =>
    Effect.map(
      Effect.either(vendor.call(targets("example.com"), { account, requestIds: [] })),
      Either.match({
        onLeft: ({ isUnsent, reason }) => (isUnsent === true ? `unsent: ${reason}` : reason),
        onRight: () => "ok",
      }),
    )
  const times = (count: number, account?: string) =>
    Effect.map(Effect.replicateEffect(call(account), count), (results) => [...new Set(results)])
  return { ...scripted, circuit, call, times }
}

const lines: Array<string> = []
const logger = Logger.make(({ message }) => void lines.push(String(message)))

const test = (name: string, effect: () => Effect.Effect<void>) =>
  it(name, () => {
    lines.length = 0
    runInVirtualTime(Effect.provide(effect(), Logger.replace(Logger.defaultLogger, logger)))
  })

test("a vendor call that takes longer than the timeout fails", () =>
  Effect.gen(function* () {
    const { call, script } = setUp()
    script(hang, after("9 seconds"))
    assert.strictEqual(yield* call(), "Timeout")
    assert.strictEqual(yield* call(), "ok")
  }))

describe("the circuit of a vendor", () => {
  test("the circuit opens after 15 failures in a row from two accounts, then lets one call through as a probe", () =>
    Effect.gen(function* () {
      const { always, call, calls, circuit, times } = setUp()
      always(after("1 second", fails("Unavailable")))
      yield* times(14)
      assert.isUndefined((yield* circuit).openReason)
      yield* times(1, "b")
      assert.include((yield* circuit).openReason, "15 calls in a row have failed")
      assert.strictEqual(yield* call("c"), "unsent: Unavailable")
      assert.lengthOf(calls, 15)
      yield* Effect.sleep("15 seconds")
      const probe = yield* Effect.fork(call())
      yield* Effect.sleep("10 millis")
      assert.strictEqual(yield* call("b"), "unsent: Unavailable")
      assert.strictEqual(yield* Fiber.join(probe), "Unavailable")
      assert.strictEqual(yield* call(), "unsent: Unavailable")
      always(ScriptedVendor.right)
      yield* Effect.sleep("15 seconds")
      assert.deepStrictEqual(yield* times(3), ["ok"])
    }))

  test("the circuit stays closed if only one account's calls fail, or only calls for several accounts", () =>
    Effect.gen(function* () {
      const { always, call, circuit, times } = setUp()
      always(fails("Unavailable"))
      yield* times(40)
      yield* Effect.replicateEffect(call(undefined), 40)
      assert.isUndefined((yield* circuit).openReason)
    }))

  test("the circuit lets another probe through after an interrupted one", () =>
    Effect.gen(function* () {
      const { always, call, times } = setUp()
      always(fails("Unreachable"))
      yield* times(14)
      yield* times(1, "b")
      yield* Effect.sleep("15 seconds")
      always(hang)
      const probe = yield* Effect.fork(call())
      yield* Effect.sleep("1 second")
      yield* Fiber.interrupt(probe)
      always(ScriptedVendor.right)
      assert.strictEqual(yield* call(), "ok")
    }))

  test("the circuit does not count calls that are refused because of a target", () =>
    Effect.gen(function* () {
      const { always, circuit, times } = setUp()
      always(fails("Rejected"))
      yield* times(30)
      yield* times(30, "b")
      assert.isUndefined((yield* circuit).openReason)
    }))
})

describe("refused calls to Moz", () => {
  test("calls to Moz stop after 40 answers with a 4xx within five minutes", () =>
    Effect.gen(function* () {
      const { always, call, calls, times } = setUp({ maxRefusals: 40 })
      always(fails("Rejected"))
      yield* times(20)
      yield* Effect.sleep("1 minute")
      yield* times(30, "b")
      assert.lengthOf(calls, 40)
      assert.strictEqual(yield* call(), "unsent: Unavailable")
      yield* Effect.sleep("4 minutes")
      assert.strictEqual(yield* call(), "Rejected")
    }))

  test("refused calls and calls in flight together stay below the 50 at which Moz's penalty begins", () =>
    Effect.gen(function* () {
      const { always, call, calls } = setUp({ maxRefusals: 40 })
      always(after("1 second", fails("Rejected")))
      yield* Effect.replicateEffect(call(), 38)
      yield* Effect.all(
        Array.from({ length: 30 }, () => call()),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(calls, 50)
    }))
})

test("a vendor's pause is obeyed by every call", () =>
  Effect.gen(function* () {
    const { call, circuit, script } = setUp()
    script(fails("Throttled", Duration.minutes(2)))
    assert.strictEqual(yield* call(), "Throttled")
    assert.isTrue((yield* circuit).isPaused)
    yield* Effect.sleep("119 seconds")
    assert.strictEqual(yield* call("b"), "unsent: Throttled")
    yield* Effect.sleep("1 second")
    assert.strictEqual(yield* call("b"), "ok")
  }))

describe("an exhausted vendor", () => {
  test("an exhausted vendor gets one call every ten minutes, and this is logged once", () =>
    Effect.gen(function* () {
      const { always, call, calls, circuit, times } = setUp()
      always(after("1 second", fails("Exhausted")))
      for (let i = 0; i < 60; i++) {
        yield* times(2)
        yield* Effect.sleep("1 minute")
      }
      assert.isAtMost(calls.length, 7)
      assert.isTrue((yield* circuit).isExhausted)
      assert.lengthOf(
        lines.filter((line) => line.includes("is exhausted")),
        1,
      )
      always(ScriptedVendor.right)
      yield* Effect.sleep("10 minutes")
      assert.strictEqual(yield* call(), "ok")
      assert.isFalse((yield* circuit).isExhausted)
      assert.lengthOf(
        lines.filter((line) => line.includes("answers again")),
        1,
      )
    }))

  test("an exhausted vendor is asked again when the period that it names has ended", () =>
    Effect.gen(function* () {
      const { call, script, times } = setUp()
      script(fails("Exhausted", Duration.minutes(7)))
      assert.deepStrictEqual(yield* times(2), ["Exhausted", "unsent: Exhausted"])
      yield* Effect.sleep("7 minutes")
      assert.strictEqual(yield* call(), "ok")
    }))
})

test("a vendor's last ten failed calls and its latency are remembered", () =>
  Effect.gen(function* () {
    const { always, circuit, script, times } = setUp()
    always(after("2 seconds", fails("Unreachable")))
    yield* times(11)
    script(after("2 seconds", fails("Malformed")))
    yield* times(1)
    const { calls } = yield* circuit
    assert.deepStrictEqual(
      calls.errors.map(({ reason }) => reason),
      ["Malformed", ...Array.from({ length: 9 }, () => "Unreachable" as const)],
    )
    assert.strictEqual(calls.errors[0]?.at, 24_000)
    assert.strictEqual(calls.latencyMs, 2000)
    assert.include(calls, { inFlight: 0, limit: 16 })
  }))
