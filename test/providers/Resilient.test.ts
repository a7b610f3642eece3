import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Metric from "effect/Metric"
import * as Predicate from "effect/Predicate"
import * as TestClock from "effect/TestClock"
import { Deadline } from "../../src/Deadline.ts"
import { providerFailed } from "../../src/Metrics.ts"
import type { MetricsProvider, Quota } from "../../src/MetricsProvider.ts"
import { Blame } from "../../src/providers/Blame.ts"
import { CallLog } from "../../src/providers/CallLog.ts"
import { Limit } from "../../src/providers/Limit.ts"
import * as Resilient from "../../src/providers/Resilient.ts"
import * as Timed from "../../src/providers/Timed.ts"
import { targets } from "../support/lookup.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"
import { settable } from "../support/SettableClock.ts"
import * as Alarms from "../../src/time/Alarms.ts"

const { checked, fails, hang, right } = ScriptedVendor

const setUp = Effect.fnUntraced(function* (
  options: Partial<Resilient.Options> = {},
  more: Partial<MetricsProvider["Type"]> = {},
) {
  const vendor = ScriptedVendor.make()
  const shared = { timeout: "10 seconds", limit: new Limit(4), log: new CallLog() } as const
  const provider = Resilient.make(
    Timed.make({ ...vendor.provider, ...more }, { ...shared, alarms: yield* Alarms.make }),
    {
      retries: 3,
      failures: 100,
      cooldown: "15 seconds",
      refusals: { max: Infinity, tolerated: Infinity, per: 0 },
      blame: new Blame(),
      ...shared,
      ...options,
    },
  )
  const lookup = provider.lookup(targets("example.com"))
  /** Starts a lookup, advances the clock by `time` and returns the result. */
  const asking = (time: Duration.DurationInput) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.either(lookup))
      yield* TestClock.adjust(time)
      return yield* fiber
    })
  return { vendor, lookup, asking, circuits: provider.circuits ?? Effect.succeed([]) }
})

const answered = { _tag: "Right", right: [checked("example.com/")] }

/** Runs the effect, and returns its log lines of level debug as JSON. */
const debugLinesOf = (effect: Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const lines = new Array<unknown>()
    const toLines = Logger.map(Logger.structuredLogger, (line) => void lines.push(line))
    yield* effect.pipe(
      Logger.withMinimumLogLevel(LogLevel.Debug),
      Effect.provide(Logger.replace(Logger.defaultLogger, toLines)),
    )
    return lines.filter(
      (line) => Predicate.hasProperty(line, "logLevel") && line.logLevel === "DEBUG",
    )
  })

const failedTargets = (cause: string) =>
  Effect.map(
    Metric.value(
      Metric.counter("authority_provider_outcomes", {
        description: "targets that were sent to the vendor, by outcome",
        incremental: true,
      }).pipe(
        Metric.tagged("provider", "scripted"),
        Metric.tagged("outcome", "failed"),
        Metric.tagged("cause", cause),
      ),
    ),
    ({ count }) => count,
  )

describe("targets without figures", () => {
  it.scoped("each is a line of level debug with the vendor's reason, and counted by cause", () =>
    Effect.gen(function* () {
      const { asking, vendor } = yield* setUp({ retries: 0 })
      const reason = "it is not in the index"
      const before = yield* Effect.all([failedTargets("unknown"), failedTargets("timeout")])
      vendor.script(() => Effect.succeed([providerFailed(reason, "unknown")]), fails("Timeout"))
      assert.containSubset(yield* debugLinesOf(Effect.zip(asking(0), asking(0))), [
        { message: [noFigures, reason], annotations: { target: "example.com/", cause: "unknown" } },
        {
          message: [noFigures, "scripted did not answer in time: as the script says"],
          annotations: { target: "example.com/", cause: "timeout" },
        },
      ])
      const after = yield* Effect.all([failedTargets("unknown"), failedTargets("timeout")])
      assert.deepStrictEqual(
        after,
        before.map((count) => count + 1),
      )
    }),
  )
})

const noFigures = "The provider has no figures for a target."

describe("retries of vendor calls", () => {
  for (const reason of ["Unreachable", "Unavailable", "Throttled", "Timeout"] as const) {
    it.scoped(`a vendor call is retried after ${reason}`, () =>
      Effect.gen(function* () {
        const { asking, vendor } = yield* setUp()
        vendor.script(fails(reason), fails(reason), fails(reason))
        assert.containSubset(yield* asking("10 seconds"), answered)
        assert.lengthOf(vendor.calls, 4)
      }),
    )
  }

  for (const reason of ["Exhausted", "Refused", "Rejected", "Malformed"] as const) {
    it.scoped(`a vendor call is not retried after ${reason}`, () =>
      Effect.gen(function* () {
        const { asking, vendor } = yield* setUp()
        vendor.script(fails(reason))
        assert.containSubset(yield* asking(0), { left: { reason } })
        assert.lengthOf(vendor.calls, 1)
      }),
    )
  }

  it.scoped("a vendor call that times out is retried", () =>
    Effect.gen(function* () {
      const { asking, vendor } = yield* setUp()
      vendor.script(hang)
      assert.containSubset(yield* asking("11 seconds"), answered)
      vendor.always(hang)
      assert.containSubset(yield* asking("2 minutes"), { left: { reason: "Timeout" } })
      assert.lengthOf(vendor.calls, 6)
    }),
  )

  it.scoped("a retry waits for the vendor's Retry-After", () =>
    Effect.gen(function* () {
      const { lookup, vendor } = yield* setUp()
      vendor.script(fails("Throttled", Duration.seconds(20)))
      const fiber = yield* Effect.fork(lookup)
      yield* TestClock.adjust("19 seconds")
      assert.lengthOf(vendor.calls, 1)
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(yield* fiber, answered.right)
    }),
  )

  it.scoped("a vendor call is not retried if the Retry-After exceeds the deadline", () =>
    Effect.gen(function* () {
      const { lookup, vendor } = yield* setUp()
      vendor.script(fails("Throttled", Duration.seconds(20)))
      const error = yield* Effect.flip(Effect.provideService(lookup, Deadline, 15_000))
      assert.strictEqual(error.reason, "Throttled")
      assert.lengthOf(vendor.calls, 1)
    }),
  )
})

it.scoped("the retries of a vendor call respect the deadline even when the clock is set back", () =>
  Effect.gen(function* () {
    const { adjust, clock, putBack } = yield* settable
    yield* Effect.gen(function* () {
      const { lookup, vendor } = yield* setUp()
      vendor.always(fails("Throttled", Duration.seconds(10)))
      const now = yield* Clock.currentTimeMillis
      const fiber = yield* Effect.fork(
        Effect.flip(Effect.provideService(lookup, Deadline, now + 15_000)),
      )
      yield* adjust("1 second")
      putBack("1 hour")
      yield* adjust("1 minute")
      assert.strictEqual((yield* fiber).reason, "Throttled")
      assert.lengthOf(vendor.calls, 2)
    }).pipe(Effect.withClock(clock))
  }),
)

describe("the circuit breaker", () => {
  const failing = { failures: 3, retries: 0 }

  it.scoped(
    "the circuit opens after consecutive failures, and lookups fail fast while it is open",
    () =>
      Effect.gen(function* () {
        const { asking, vendor } = yield* setUp(failing)
        const { always, script } = vendor
        script(fails("Unavailable"), fails("Unavailable"), ScriptedVendor.right)
        always(fails("Unavailable"))
        for (let i = 0; i < 6; i++) yield* asking(0)
        assert.lengthOf(vendor.calls, 6)
        const failed = yield* asking(0)
        assert.containSubset(failed, { left: { reason: "Unavailable" } })
        assert.include(JSON.stringify(failed), "not asked")
        assert.lengthOf(vendor.calls, 6)
      }),
  )

  it.scoped("one trial call after the cooldown closes or reopens the circuit", () =>
    Effect.gen(function* () {
      const { asking, lookup, vendor } = yield* setUp(failing)
      vendor.always(fails("Unreachable"))
      for (let i = 0; i < 9; i++) yield* asking(0)
      assert.lengthOf(vendor.calls, 3)
      yield* TestClock.adjust("15 seconds")
      for (let i = 0; i < 9; i++) yield* asking(0)
      assert.lengthOf(vendor.calls, 4)

      yield* TestClock.adjust("15 seconds")
      vendor.always(ScriptedVendor.after("1 second"))
      const trial = yield* Effect.fork(lookup)
      yield* Effect.yieldNow()
      assert.containSubset(yield* asking(0), { _tag: "Left" })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* trial, answered.right)
      assert.containSubset(yield* asking("1 second"), answered)
    }),
  )

  it.scoped("an open circuit reports its reason until the cooldown ends", () =>
    Effect.gen(function* () {
      const { asking, circuits, vendor } = yield* setUp(failing)
      vendor.always(fails("Unreachable"))
      const provider = vendor.provider.name
      for (let i = 0; i < 2; i++) yield* asking(0)
      const closed = { provider, openReason: undefined, isExhausted: false }
      assert.containSubset(yield* circuits, [closed])
      yield* asking(0)
      assert.containSubset(yield* circuits, [
        { ...closed, openReason: "3 calls in a row have failed" },
      ])
      yield* TestClock.adjust("15 seconds")
      assert.containSubset(yield* circuits, [closed])
      assert.lengthOf(vendor.calls, 3)
    }),
  )

  it.scoped("a vendor's last ten failed calls are remembered, newest first, and its latency", () =>
    Effect.gen(function* () {
      const { asking, circuits, vendor } = yield* setUp({ retries: 0 })
      const before = yield* circuits
      assert.containSubset(before, [
        { calls: { inFlight: 0, limit: 4, latencyMs: null, errors: [] } },
      ])
      vendor.always(fails("Unreachable"))
      for (let i = 0; i < 11; i++) yield* asking("1 second")
      vendor.always(fails("Throttled"))
      yield* asking(0)
      const [state] = yield* circuits
      assert.lengthOf(state?.calls?.errors ?? [], 10)
      assert.containSubset(state?.calls?.errors, [
        { at: 11_000, reason: "Throttled" },
        { at: 10_000, reason: "Unreachable" },
      ])
      assert.strictEqual(state?.calls?.latencyMs, 0)
    }),
  )

  it.scoped("an open circuit allows another trial call after a trial call is interrupted", () =>
    Effect.gen(function* () {
      const { asking, lookup, vendor } = yield* setUp(failing)
      vendor.always(fails("Unreachable"))
      for (let i = 0; i < 3; i++) yield* asking(0)
      yield* TestClock.adjust("15 seconds")
      vendor.script(hang)
      const trial = yield* Effect.fork(lookup)
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(trial)
      vendor.always(ScriptedVendor.right)
      assert.containSubset(yield* asking(0), answered)
    }),
  )

  it.scoped("the cooldown of an open circuit does not last longer when the clock is set back", () =>
    Effect.gen(function* () {
      const { adjust, clock, putBack } = yield* settable
      yield* Effect.gen(function* () {
        const { lookup, vendor } = yield* setUp({ failures: 2, retries: 0 })
        vendor.always(fails("Unreachable"))
        for (let i = 0; i < 2; i++) yield* Effect.flip(lookup)
        putBack("1 hour")
        yield* adjust("15 seconds")
        vendor.always(ScriptedVendor.right)
        assert.deepStrictEqual(yield* lookup, answered.right)
      }).pipe(Effect.withClock(clock))
    }),
  )

  it.scoped("the retries of a vendor call stop when the circuit opens", () =>
    Effect.gen(function* () {
      const { asking, vendor } = yield* setUp({ failures: 2, retries: 3 })
      vendor.always(fails("Unavailable"))
      yield* asking("10 seconds")
      assert.lengthOf(vendor.calls, 2)
    }),
  )

  it.scoped("vendor calls stop after the maximum number of refused calls in a time span", () =>
    Effect.gen(function* () {
      const refusals = { max: 10, tolerated: 12, per: "5 minutes" } as const
      const { asking, circuits, vendor } = yield* setUp({ retries: 0, refusals })
      for (let i = 0; i < 50; i++) {
        vendor.script(fails("Refused"))
        yield* asking("1 second")
      }
      assert.lengthOf(vendor.calls, 10)
      assert.containSubset(yield* circuits, [
        { openReason: "the provider refused 10 calls in the last 5m" },
      ])
      yield* TestClock.adjust("5 minutes")
      assert.containSubset(yield* asking(0), { left: { reason: "Refused" } })
    }),
  )

  it.scoped(
    "refused calls and calls in flight together are never more than the vendor tolerates",
    () =>
      Effect.gen(function* () {
        const refusals = { max: 10, tolerated: 12, per: "5 minutes" } as const
        const { lookup, vendor } = yield* setUp({ retries: 3, refusals })
        let calls = 0
        // The vendor answers every third call, so the calls in a row that fail do not open the circuit.
        vendor.always((targets) =>
          ScriptedVendor.after("1 second", ++calls % 3 === 0 ? right : fails("Throttled"))(targets),
        )
        for (let i = 0; i < 30; i++) {
          yield* Effect.fork(lookup)
          yield* TestClock.adjust("100 millis")
        }
        yield* TestClock.adjust("1 minute")
        assert.isAtMost(calls - Math.floor(calls / 3), 12)
        assert.isAtLeast(calls, 12)
      }),
  )
})

describe("an exhausted provider", () => {
  /** Asks once a second during `time`. Returns the number of calls that reached the vendor. */
  const callsDuring = (
    { asking, vendor }: Effect.Effect.Success<ReturnType<typeof setUp>>,
    time: Duration.DurationInput,
    minSeconds = 1,
  ) =>
    Effect.gen(function* () {
      const before = vendor.calls.length
      const times = Duration.toSeconds(time) / minSeconds
      for (let i = 0; i < times; i++) {
        assert.containSubset(yield* asking(Duration.seconds(minSeconds)), {
          left: { reason: "Exhausted" },
        })
      }
      return vendor.calls.length - before
    })

  it.scoped("an exhausted provider is asked once every ten minutes, and logged once", () => {
    const log: Array<string> = []
    const logger = Logger.make(({ message }) => void log.push(String(message)))
    return Effect.gen(function* () {
      const all = yield* setUp()
      all.vendor.always(fails("Exhausted"))
      assert.strictEqual(yield* callsDuring(all, "10 minutes", 30), 1)
      assert.containSubset(yield* all.circuits, [{ openReason: undefined }])
      assert.strictEqual(yield* callsDuring(all, "20 minutes", 30), 2)
      assert.lengthOf(log, 1)
      assert.match(String(log[0]), /A provider is exhausted.*as the script says/)

      all.vendor.always(ScriptedVendor.right)
      assert.containSubset(yield* all.asking(0), answered)
      assert.deepStrictEqual(log.slice(1), ["The exhausted provider answers again.,scripted"])
      assert.containSubset(yield* all.asking(0), answered)
    }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
  })

  it.scoped("an exhausted provider is left alone until the Retry-After ends", () =>
    Effect.gen(function* () {
      const all = yield* setUp()
      all.vendor.script(fails("Exhausted", Duration.days(30)))
      yield* all.asking(0)
      assert.containSubset(yield* all.circuits, [
        { openReason: "its quota is used up", isExhausted: true },
      ])
      assert.strictEqual(yield* callsDuring(all, "30 days", 86_400), 0)
      assert.containSubset(yield* all.asking(0), answered)
    }),
  )

  const rows: Quota = { unit: "rows", allotted: 3000, left: 0, resetsAt: null }

  for (const [title, quota, time] of [
    ["for the hour until its quota is renewed", { ...rows, resetsAt: 3_600_000 }, "1 hour"],
    ["for the minute until its quota is renewed", { ...rows, resetsAt: 60_000 }, "1 minute"],
    [
      "for 32 days if its quota is renewed in years, because the date may be wrong",
      { ...rows, resetsAt: 10 * 365 * 86_400_000 },
      "32 days",
    ],
    ["for ten minutes if the period of its quota is over", { ...rows, resetsAt: 0 }, "10 minutes"],
    [
      "for ten minutes if rows are left, because then something else is at fault",
      { ...rows, left: 2999, resetsAt: 3_600_000 },
      "10 minutes",
    ],
  ] as const) {
    it.scoped(`an exhausted provider is left alone ${title}`, () =>
      Effect.gen(function* () {
        const all = yield* setUp({}, { status: Effect.succeed({ quota }) })
        all.vendor.script(fails("Exhausted"))
        yield* all.asking(0)
        assert.strictEqual(yield* callsDuring(all, time, Duration.toSeconds(time) / 20), 0)
        assert.containSubset(yield* all.asking(0), answered)
      }),
    )
  }

  it.scoped("the calls in flight when a provider is exhausted change nothing", () =>
    Effect.gen(function* () {
      const all = yield* setUp({ failures: 3, retries: 0 })
      for (const step of [ScriptedVendor.right, fails("Unreachable"), fails("Exhausted")]) {
        all.vendor.script(ScriptedVendor.after("1 second", step))
        yield* Effect.fork(Effect.either(all.lookup))
      }
      all.vendor.always(fails("Exhausted"))
      yield* all.asking(0)
      assert.strictEqual(yield* callsDuring(all, "10 minutes", 30), 0)
      yield* all.asking(0)
      assert.lengthOf(all.vendor.calls, 5)
    }),
  )

  it.scoped("one trial call at a time asks an exhausted provider", () =>
    Effect.gen(function* () {
      const all = yield* setUp({ retries: 0 })
      all.vendor.script(fails("Exhausted"))
      yield* all.asking("10 minutes")
      all.vendor.script(ScriptedVendor.after("1 second", fails("Unavailable")))
      const trial = yield* Effect.fork(Effect.either(all.lookup))
      yield* callsDuring(all, "16 seconds")
      yield* trial
      assert.lengthOf(all.vendor.calls, 2)
      assert.containSubset(yield* all.asking(0), answered)
    }),
  )

  it.scoped("the period of an exhausted provider does not change with the wall clock", () =>
    Effect.gen(function* () {
      const { adjust, clock, putBack } = yield* settable
      yield* Effect.gen(function* () {
        const { lookup, vendor } = yield* setUp()
        vendor.script(fails("Exhausted"))
        yield* Effect.flip(lookup)
        putBack("1 hour")
        yield* adjust("599 seconds")
        assert.strictEqual((yield* Effect.flip(lookup)).reason, "Exhausted")
        yield* adjust("1 second")
        assert.deepStrictEqual(yield* lookup, answered.right)
      }).pipe(Effect.withClock(clock))
    }),
  )
})
