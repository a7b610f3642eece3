import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Record from "effect/Record"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import * as memory from "../support/memory.ts"
import { providerFailed } from "../../src/check/Metrics.ts"
import { ProviderError } from "../../src/providers/MetricsProvider.ts"
import { type Cost, Costs, nothing } from "../../src/providers/costs/Costs.ts"
import * as Counted from "../../src/providers/costs/Counted.ts"
import type { Answer, Vendor } from "../../src/providers/Vendor.ts"
import { StoreFailure } from "../../src/database/StoreFailure.ts"
import { Target } from "../../src/check/Target.ts"
import { forAll } from "../support/properties.ts"
import { checked } from "../support/ScriptedVendor.ts"

const today = Date.UTC(2026, 10, 30)
const nextMonth = Date.UTC(2026, 11, 1)
const day = today / 86_400_000

type Step = (count: number) => Effect.Effect<Pick<Answer, "rows" | "cost">, ProviderError>

const bills =
  (rows: number, cost?: number): Step =>
  () =>
    Effect.succeed({ rows, cost })

const all: Step = (count) => Effect.succeed({ rows: count, cost: undefined })

const fails =
  (reason: ProviderError["reason"], detail = "as the script says", isUnsent = false): Step =>
  () =>
    new ProviderError({ provider: "moz", reason, detail, isUnsent })

/** A vendor whose next calls behave as `steps` say. Further calls bill a row for each target. */
const vendorOf = (steps: Array<Step> = []) => {
  const sent: Array<number> = []
  const vendor: Vendor["Type"] = {
    name: "moz",
    batchSize: 50,
    maxRefusals: 40,
    billsUnknown: true,
    status: Effect.succeed({}),
    call: (targets) =>
      Effect.suspend(() => {
        sent.push(targets.length)
        return Effect.map((steps.shift() ?? all)(targets.length), (bill) => ({
          outcomes: targets.map(({ page }) => checked(page)),
          ...bill,
        }))
      }),
  }
  return { vendor, sent }
}

const targets = (count: number) => {
  const parsed = Arr.makeBy(count, (n) => Target.parse(`n${n}.example.com`))
  return Arr.map(parsed, (each) => (each._tag === "Right" ? each.right : assert.fail("no target")))
}

const context = { account: "acme", requestIds: ["r1", "r2"] }

const ask = ({ call }: Vendor["Type"], count: number) => call(targets(count), context)

const days = Effect.flatMap(Costs, (costs) => costs.days({}))

const sum = (more: Partial<Cost>): Cost => ({ ...nothing, provider: "moz", day, ...more })

const ceiling = (rows: number) => ({ ceiling: { rows, setting: "AUTHORITY_MOZ_CEILING" } })

const test = (title: string, body: Effect.Effect<void, unknown, Costs | Scope.Scope>) =>
  it.scoped(title, () =>
    Effect.zipRight(TestClock.setTime(today), Effect.provide(body, memory.costs)),
  )

/** A store that runs `behaviour` before each of its methods. */
const storeWith = (behaviour: () => Effect.Effect<void>) =>
  Layer.effect(
    Costs,
    Effect.map(Costs, ({ add, days }) =>
      Costs.of({
        add: (costs) => Effect.zipRight(Effect.suspend(behaviour), add(costs)),
        days: (range) => Effect.zipRight(Effect.suspend(behaviour), days(range)),
      }),
    ),
  ).pipe(Layer.provide(memory.costs))

const broken = Effect.die(new StoreFailure({ message: "the disk is full" }))

const logged = (lines: Array<string>) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.map(Logger.jsonLogger, (line) => void lines.push(line)),
  )

describe("counting what vendor calls cost", () => {
  test(
    "vendor calls are counted within a second after they end, by how they ended",
    Effect.gen(function* () {
      const { vendor } = vendorOf([
        bills(49),
        bills(3, 0.0406),
        fails("Rejected"),
        fails("Unreachable", "ECONNREFUSED"),
        fails("Unavailable", "HTTP 503, busy"),
        fails("Unreachable", "ECONNRESET"),
        fails("Timeout"),
        fails("Malformed"),
        fails("Unavailable", "HTTP 502"),
        () => Effect.die("a bug in an adapter"),
        fails("Throttled", "a limit of the service itself", true),
      ])
      const counted = yield* Counted.make(vendor, { price: 2_500_000 })
      yield* Effect.forEach(Arr.range(1, 11), () => Effect.exit(ask(counted, 5)))
      assert.deepStrictEqual(yield* days, [])
      yield* TestClock.adjust("1 second")
      const sums = sum({ calls: 10, rows: 52, cost: 122_500 + 40_600, failed: 3, unanswered: 5 })
      assert.deepStrictEqual(yield* days, [sums])
    }),
  )

  test(
    "an interrupted vendor call counts as unanswered, on the day on which it began",
    Effect.gen(function* () {
      const { vendor } = vendorOf([() => Effect.never, (n) => Effect.delay(all(n), "2 minutes")])
      const counted = yield* Counted.make(vendor)
      yield* TestClock.setTime(nextMonth - 60_000)
      const first = yield* Effect.fork(ask(counted, 5))
      const second = yield* Effect.fork(ask(counted, 7))
      yield* TestClock.adjust("2 minutes")
      yield* Fiber.interrupt(first)
      yield* second
      yield* TestClock.adjust("1 second")
      const last = { day: nextMonth / 86_400_000 - 1, calls: 2, rows: 7, unanswered: 1 }
      assert.deepStrictEqual(yield* days, [sum(last)])
    }),
  )

  test(
    "counts of vendor calls that are not written yet are written when the scope ends",
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const counted = yield* Scope.extend(Counted.make(vendorOf().vendor), scope)
      yield* ask(counted, 5)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* days, [sum({ calls: 1, rows: 5 })])
    }),
  )

  it.scoped("a failed write of counts keeps them for the next write, and is logged once", () => {
    const lines: Array<string> = []
    let isBroken = true
    const store = storeWith(() => (isBroken ? broken : Effect.void))
    return Effect.gen(function* () {
      yield* TestClock.setTime(today)
      const counted = yield* Counted.make(vendorOf().vendor)
      yield* ask(counted, 5)
      yield* TestClock.adjust("2 seconds")
      yield* ask(counted, 6)
      yield* TestClock.adjust("2 seconds")
      assert.lengthOf(lines, 1)
      assert.match(lines.join(""), /counts of calls to providers cannot be written.*disk is full/)
      isBroken = false
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* days, [sum({ calls: 2, rows: 11 })])
    }).pipe(Effect.provide(store), Effect.provide(logged(lines)))
  })

  test(
    "at level debug, each vendor call is logged as a line",
    Effect.gen(function* () {
      const lines: Array<string> = []
      const counted = yield* Counted.make(vendorOf([bills(4, 0.01)]).vendor)
      yield* ask(counted, 5).pipe(
        Effect.provide(logged(lines)),
        Logger.withMinimumLogLevel(LogLevel.Debug),
      )
      const { annotations } = JSON.parse(lines.join(""))
      assert.deepStrictEqual(annotations, {
        provider: "moz",
        targets: 5,
        result: "answered",
        rows: 4,
        cost: 0.01,
        ms: 0,
        requestIds: context.requestIds,
      })
    }),
  )
})

describe("a vendor's monthly ceiling", () => {
  test(
    "a call is sent with as many targets as the ceiling allows, and the others fail as exhausted",
    Effect.gen(function* () {
      const { sent, vendor } = vendorOf()
      const counted = yield* Counted.make(vendor, ceiling(7))
      yield* ask(counted, 5)
      const { outcomes, rows } = yield* ask(counted, 5)
      const detail =
        "moz was not asked: the ceiling AUTHORITY_MOZ_CEILING of 7 rows a month is reached"
      assert.deepStrictEqual(
        outcomes.slice(1).map(({ _tag }) => _tag),
        ["Checked", "Failed", "Failed", "Failed"],
      )
      assert.deepStrictEqual(outcomes[4], providerFailed(detail, "exhausted"))
      assert.strictEqual(rows, 2)
      const error = yield* Effect.flip(ask(counted, 1))
      assert.deepInclude(error, { reason: "Exhausted", isUnsent: true })
      assert.deepStrictEqual(error.retryAfter, Duration.millis(nextMonth - today))
      assert.deepStrictEqual(sent, [5, 2])
      yield* TestClock.setTime(nextMonth)
      assert.strictEqual((yield* ask(counted, 9)).rows, 7)
    }),
  )

  test(
    "targets in flight count towards the ceiling, and those that are not billed free their room again",
    Effect.gen(function* () {
      const later: Step = () => Effect.delay(Effect.succeed({ rows: 1, cost: 0 }), "5 seconds")
      const { vendor } = vendorOf([later])
      const counted = yield* Counted.make(vendor, ceiling(5))
      const first = yield* Effect.fork(ask(counted, 5))
      yield* TestClock.adjust("1 second")
      const error = yield* Effect.flip(ask(counted, 1))
      assert.deepInclude(error, { reason: "Throttled", isUnsent: true })
      assert.deepStrictEqual(error.retryAfter, Duration.seconds(1))
      yield* TestClock.adjust("5 seconds")
      yield* first
      assert.strictEqual((yield* ask(counted, 5)).rows, 4)
    }),
  )

  test(
    "a call without an answer counts all its targets towards the ceiling until the month ends",
    Effect.gen(function* () {
      const { vendor } = vendorOf([fails("Timeout"), fails("Rejected")])
      const counted = yield* Counted.make(vendor, ceiling(5))
      yield* Effect.exit(ask(counted, 3))
      yield* Effect.exit(ask(counted, 2))
      assert.strictEqual((yield* ask(counted, 5)).rows, 2)
      assert.strictEqual((yield* Effect.flip(ask(counted, 1))).reason, "Exhausted")
      yield* TestClock.setTime(nextMonth)
      assert.strictEqual((yield* ask(counted, 5)).rows, 5)
    }),
  )

  test(
    "what other processes buy counts towards the ceiling after three seconds at most",
    Effect.gen(function* () {
      const one = yield* Counted.make(vendorOf().vendor, ceiling(10))
      const other = yield* Counted.make(vendorOf().vendor, ceiling(10))
      yield* ask(one, 1)
      yield* ask(other, 6)
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* ask(one, 5)).rows, 3)
      assert.strictEqual((yield* Effect.flip(ask(one, 1))).reason, "Exhausted")
    }),
  )

  it.scoped(
    "with a ceiling, nothing is sent while the sums cannot be read, and this is logged once",
    () => {
      const lines: Array<string> = []
      let behaviour: Effect.Effect<void> = broken
      const store = storeWith(() => behaviour)
      return Effect.gen(function* () {
        yield* TestClock.setTime(today)
        const { sent, vendor } = vendorOf()
        const counted = yield* Counted.make(vendor, ceiling(5))
        const error = yield* Effect.flip(ask(counted, 1))
        assert.deepInclude(error, { reason: "Unavailable", isUnsent: true })
        behaviour = Effect.never
        const slow = yield* Effect.fork(Effect.flip(ask(counted, 1)))
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* slow).reason, "Unavailable")
        assert.deepStrictEqual(sent, [])
        assert.lengthOf(lines, 1)
        behaviour = Effect.void
        assert.strictEqual((yield* ask(counted, 5)).rows, 5)
      }).pipe(Effect.provide(store), Effect.provide(logged(lines)))
    },
  )

  it.live("no schedule of calls in one process exceeds the ceiling", () =>
    forAll(schedule, { numRuns: 25 }, ({ calls, faults, rows }) => {
      let billed = 0
      const step =
        ({ end, lasts }: (typeof calls)[number]): Step =>
        (count) =>
          Effect.suspend(() => {
            const own = end === "some" ? 1 : end === "refused" ? 0 : count
            // The vendor bills a call at once, whether or not its caller gets the answer.
            billed += own
            return Effect.delay(ends[end](own), lasts)
          })
      const store = storeWith(() =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          faults.some(({ at, lasts }) => today + at <= now && now < today + at + lasts)
            ? broken
            : Effect.void,
        ),
      )
      return Effect.gen(function* () {
        yield* TestClock.setTime(today)
        const counted = yield* Counted.make(vendorOf(calls.map(step)).vendor, ceiling(rows))
        for (const { after, count } of calls) {
          yield* Effect.fork(Effect.exit(Effect.timeout(ask(counted, count), "8 seconds")))
          yield* TestClock.adjust(after)
          assert.isAtMost(billed, rows)
        }
        yield* TestClock.adjust("20 seconds")
        assert.isAtMost(billed, rows)
      }).pipe(
        Effect.scoped,
        Effect.provide(Layer.mergeAll(store, logged([]), TestContext.TestContext)),
      )
    }),
  )
})

const ends = {
  all,
  some: all,
  refused: fails("Rejected"),
  lost: fails("Timeout"),
  hangs: () => Effect.never,
} satisfies Record<string, Step>

const upTo = (max: number) => fc.integer({ min: 0, max })

const schedule = fc.record({
  calls: fc.array(
    fc.record({
      count: fc.integer({ min: 1, max: 9 }),
      after: upTo(1500),
      lasts: upTo(6000),
      end: fc.constantFrom(...Record.keys(ends)),
    }),
    { maxLength: 20 },
  ),
  /** The periods in which the store fails. */
  faults: fc.array(fc.record({ at: upTo(20_000), lasts: upTo(4000) }), { maxLength: 3 }),
  rows: fc.integer({ min: 1, max: 60 }),
})
