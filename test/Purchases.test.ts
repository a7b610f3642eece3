/** The test suite of the port Purchases. It runs over memory and every database. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Proxy from "../scripts/support/Proxy.ts"
import * as MemoryPurchases from "../src/memory/Purchases.ts"
import { type Cost, longestPauseMs, type Purchase, Purchases } from "../src/Purchases.ts"
import * as Postgres from "../src/sql/Postgres.ts"
import * as SqlPurchases from "../src/sql/Purchases.ts"
import {
  databases,
  hasPostgres,
  migrated,
  temporaryDatabase,
  untilAnotherWaits,
} from "./support/Stores.ts"

const stores: ReadonlyArray<readonly [string, Layer.Layer<Purchases, unknown>]> = [
  ["memory", MemoryPurchases.layer],
  ...databases.map(
    ([name, database]) => [name, SqlPurchases.layer.pipe(Layer.provide(database))] as const,
  ),
]

const day = Date.UTC(2026, 10, 24)
const nextMonth = Date.UTC(2026, 11, 1)
const dayNumber = day / 86_400_000

const answered = (rows: number, cost: number | null = null): Cost => ({
  state: "answered",
  rows,
  cost,
  isReported: false,
})
const failed: Cost = { state: "failed", rows: 0, cost: null, isReported: false }

const open = (targets: number, ceiling?: number, provider = "moz") =>
  Effect.flatMap(Purchases, (purchases) => purchases.open({ provider, targets, ceiling }))

const close = (purchase: Purchase, cost: Cost) =>
  Effect.flatMap(Purchases, (purchases) => purchases.close(purchase, cost))

/** Waits for the commit of all former closes. The commit of this opening has them too. */
const flushed = open(1, undefined, "zz")

const days = Effect.gen(function* () {
  yield* flushed
  const all = yield* (yield* Purchases).days({})
  return all.filter(({ provider }) => provider !== "zz")
})

const nothing = {
  provider: "moz",
  day: dayNumber,
  calls: 0,
  targets: 0,
  rows: 0,
  cost: null,
  unknownCalls: 0,
  unknownTargets: 0,
}

for (const [name, layer] of stores) {
  describe(`Purchases in ${name}`, () => {
    const test = (title: string, body: Effect.Effect<void, unknown, Purchases>) =>
      it.effect(title, () => Effect.zipRight(TestClock.setTime(day), Effect.provide(body, layer)))

    test(
      "a call is unknown until it is closed, and the sums of its day follow",
      Effect.gen(function* () {
        const first = yield* open(50)
        const second = yield* open(7)
        yield* open(3)
        assert.deepInclude(first, { provider: "moz", at: day, targets: 50, rowsLeft: undefined })
        const opened = { ...nothing, calls: 3, targets: 60, unknownCalls: 3, unknownTargets: 60 }
        assert.deepStrictEqual(yield* days, [opened])
        yield* close(first, answered(49, 122_500))
        yield* close(second, failed)
        const known = { rows: 49, cost: 122_500, unknownCalls: 1, unknownTargets: 3 }
        assert.deepStrictEqual(yield* days, [{ ...opened, ...known }])
      }),
    )

    test(
      "only the first close of a call counts, in the same commit and later",
      Effect.gen(function* () {
        const call = yield* open(5)
        yield* close(call, answered(4, 10))
        yield* close(call, answered(5, 20))
        const sums = { ...nothing, calls: 1, targets: 5, rows: 4, cost: 10 }
        assert.deepStrictEqual(yield* days, [sums])
        yield* close(call, failed)
        assert.deepStrictEqual(yield* days, [sums])
      }),
    )

    test(
      "days are returned newest first, then by provider, and only those that the range touches",
      Effect.gen(function* () {
        yield* open(1, undefined, "http")
        const late = yield* open(2)
        yield* TestClock.setTime(day + 86_400_000)
        yield* open(3)
        yield* close(late, answered(2))
        yield* flushed
        const { days } = yield* Purchases
        const seen = (since?: number, until?: number) =>
          Effect.map(days({ since, until }), (all) =>
            all
              .filter(({ provider }) => provider !== "zz")
              .map((each) => [each.provider, each.day - dayNumber, each.rows]),
          )
        // The call that was closed on the next day belongs to the day on which it was opened.
        const [newest, http, moz] = [
          ["moz", 1, 0],
          ["http", 0, 0],
          ["moz", 0, 2],
        ]
        assert.deepStrictEqual(yield* seen(), [newest, http, moz])
        assert.deepStrictEqual(yield* seen(undefined, day + 86_400_000), [http, moz])
        assert.deepStrictEqual(yield* seen(day + 86_400_000), [newest])
      }),
    )

    test(
      "a ceiling grants what it leaves, counts unknown calls with their targets, and says why it refuses",
      Effect.gen(function* () {
        const first = yield* open(60, 100)
        assert.strictEqual(first.rowsLeft, 40)
        const second = yield* open(50, 100)
        assert.deepInclude(second, { targets: 40, rowsLeft: 0 })
        const refused = { _tag: "CeilingReached", ceiling: 100, endsAt: nextMonth } as const
        assert.deepInclude(yield* Effect.flip(open(1, 100)), { ...refused, mayChange: true })
        // Other providers, and calls without a ceiling, are not limited.
        yield* open(1, 100, "http")

        yield* close(first, answered(55))
        yield* close(second, failed)
        assert.deepInclude(yield* open(50, 100), { targets: 45, rowsLeft: 0 })
        assert.deepInclude(yield* Effect.flip(open(1, 55)), {
          ...refused,
          ceiling: 55,
          mayChange: false,
        })
      }),
    )

    test(
      "a ceiling begins anew with the UTC month, and a call counts in the month in which it was opened",
      Effect.gen(function* () {
        yield* TestClock.setTime(nextMonth - 1)
        const last = yield* open(10, 10)
        yield* Effect.flip(open(1, 10))
        yield* TestClock.setTime(nextMonth)
        yield* close(last, answered(10))
        assert.strictEqual((yield* open(10, 10)).rowsLeft, 0)
        // Another process may have a clock that is late.
        yield* TestClock.setTime(nextMonth - 1)
        yield* Effect.flip(open(1, 10))
      }),
    )

    test(
      "a pause refuses the calls to its vendor until it ends",
      Effect.gen(function* () {
        const purchases = yield* Purchases
        yield* purchases.pause("moz", day + 5000)
        yield* purchases.pause("moz", day + 3000)
        assert.deepInclude(yield* Effect.flip(open(1)), { _tag: "VendorPaused", until: day + 5000 })
        yield* open(1, undefined, "http")
        yield* TestClock.adjust("4999 millis")
        yield* Effect.flip(open(1))
        yield* TestClock.adjust("1 milli")
        yield* open(1)
      }),
    )

    test(
      "a pause that a wrong clock has set too far ahead is ignored, and does not hide a real one",
      Effect.gen(function* () {
        const purchases = yield* Purchases
        yield* purchases.pause("moz", day + longestPauseMs + 1)
        yield* open(1)
        yield* purchases.pause("moz", day + 1000)
        yield* Effect.flip(open(1))
      }),
    )

    test(
      "a sweep deletes old calls and keeps the sums of their days",
      Effect.gen(function* () {
        const purchases = yield* Purchases
        const old = yield* open(5)
        yield* TestClock.adjust("1 second")
        const recent = yield* open(6)
        yield* purchases.sweep(day)
        yield* close(old, answered(5))
        yield* close(recent, answered(6))
        assert.deepStrictEqual(yield* days, [
          { ...nothing, calls: 2, targets: 11, rows: 6, unknownCalls: 1, unknownTargets: 5 },
        ])
      }),
    )

    test(
      "the totals of a provider are those of all days, and young calls without an answer are in flight",
      Effect.gen(function* () {
        const { totals } = yield* Purchases
        assert.deepStrictEqual(yield* totals("moz", day), none)
        yield* open(9, undefined, "http")
        const first = yield* open(10)
        yield* open(20)
        yield* close(first, answered(8, 40))
        yield* TestClock.setTime(day + 86_400_000)
        yield* close(yield* open(30), failed)
        yield* close(yield* open(5), answered(5, 2))
        yield* open(7)
        yield* flushed
        assert.deepStrictEqual(yield* totals("moz", day), {
          provider: "moz",
          calls: 3,
          rows: 13,
          cost: 42,
          unknownCalls: 1,
          unknownTargets: 20,
          inFlightCalls: 1,
          inFlightTargets: 7,
        })
        assert.deepInclude(yield* totals("moz", day - 1), { unknownCalls: 0, inFlightTargets: 27 })
      }),
    )

    test(
      "readings are kept, newest first, but only one daily reading of a vendor and a UTC day",
      Effect.gen(function* () {
        const { addReading, readings } = yield* Purchases
        const reading = (at: number, provider = "moz") => ({
          ...none,
          provider,
          at: day + at,
          unit: "rows",
          used: at,
          resetsAt: null,
        })
        yield* addReading(reading(1), { isDaily: true })
        yield* addReading(reading(2), { isDaily: true })
        yield* addReading({ ...reading(3), resetsAt: nextMonth }, { isDaily: false })
        yield* addReading(reading(4), { isDaily: false })
        yield* addReading(reading(5, "dataforseo"), { isDaily: true })
        yield* addReading(reading(86_400_000), { isDaily: true })
        const found = yield* readings({ provider: "moz", limit: 10 })
        assert.deepStrictEqual(
          found.map(({ used }) => used),
          [86_400_000, 4, 3, 1],
        )
        assert.deepStrictEqual(found[2], { ...reading(3), resetsAt: nextMonth })
        const [, second] = yield* readings({ limit: 2 })
        assert.deepStrictEqual(second, reading(5, "dataforseo"))
      }),
    )
  })
}

const none = {
  provider: "moz",
  calls: 0,
  rows: 0,
  cost: 0,
  unknownCalls: 0,
  unknownTargets: 0,
  inFlightCalls: 0,
  inFlightTargets: 0,
}

/** Builds the store of one process. */
const process = Effect.map(Layer.build(Layer.fresh(SqlPurchases.layer)), (context) =>
  Context.get(context, Purchases),
)

for (const [name, database] of databases) {
  describe(`Purchases of several processes in ${name}`, () => {
    it.scopedLive("two processes together never exceed a ceiling, and leave no room unused", () =>
      Effect.gen(function* () {
        const processes = [yield* process, yield* process]
        const request = { provider: "moz", targets: 7, ceiling: 500 }
        const attempts = Array.from({ length: 200 }, (_, i) => {
          const { close, open } = processes[i % 2] ?? assert.fail()
          // Every fifth call fails after a while and gives its rows back.
          return open(request).pipe(
            Effect.tap((call) => (i % 5 === 0 ? close(call, failed) : Effect.void)),
            Effect.map(({ targets }) => (i % 5 === 0 ? 0 : targets)),
            Effect.either,
          )
        })
        const grants = yield* Effect.all(attempts, { concurrency: "unbounded" })
        let sum = grants.reduce((all, each) => all + Either.getOrElse(each, () => 0), 0)
        // Each process closes the failed calls before it opens another.
        for (const { open } of processes) yield* open({ provider: "http", targets: 1 })
        for (;;) {
          const { open } = processes[0] ?? assert.fail()
          const more = yield* Effect.either(open(request))
          if (Either.isLeft(more)) break
          sum += more.right.targets
        }
        assert.strictEqual(sum, 500)
      }).pipe(Effect.provide(database)),
    )

    it.scopedLive("the end of a process closes the calls that it has not yet closed", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const ending = yield* Scope.extend(process, scope)
        const call = yield* ending.open({ provider: "moz", targets: 5 })
        yield* ending.close(call, answered(5))
        yield* Scope.close(scope, Exit.void)
        const [sums] = yield* (yield* process).days({})
        assert.deepInclude(sums, { rows: 5, unknownCalls: 0 })
      }).pipe(Effect.provide(database)),
    )

    it.scopedLive("a close whose commit fails is repeated until the database works again", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { close, days, open } = yield* process
        const call = yield* open({ provider: "moz", targets: 5 })
        const [breaks, repairs] = sql.onDialectOrElse({
          pg: () =>
            [
              "ALTER TABLE purchases RENAME TO hidden",
              "ALTER TABLE hidden RENAME TO purchases",
            ] as const,
          orElse: () =>
            [
              "CREATE TRIGGER full BEFORE UPDATE ON purchases BEGIN SELECT RAISE(ABORT, 'full'); END",
              "DROP TRIGGER full",
            ] as const,
        })
        yield* sql.unsafe(breaks)
        yield* close(call, answered(5))
        yield* Effect.sleep("200 millis")
        yield* sql.unsafe(repairs)
        assert.deepInclude((yield* days({}))[0], { rows: 0, unknownCalls: 1 })
        yield* Effect.repeat(days({}), {
          until: ([sums]) => sums?.unknownCalls === 0,
          schedule: Schedule.spaced("50 millis"),
        }).pipe(Effect.timeout("5 seconds"))
        const [sums] = yield* days({})
        assert.deepInclude(sums, { calls: 1, rows: 5, unknownCalls: 0 })
      }).pipe(Effect.provide(database)),
    )
  })
}

describe.runIf(hasPostgres)("Purchases in PostgreSQL", () => {
  it.scopedLive("a commit whose answer is lost counts its calls once", () =>
    Effect.gen(function* () {
      const proxy = yield* Proxy.make(yield* temporaryDatabase)
      yield* Effect.gen(function* () {
        const { close, days, open } = yield* process
        yield* open({ provider: "http", targets: 1 })
        for (const fate of ["answer lost", "request lost"] as const) {
          proxy.doom(fate)
          const call = yield* open({ provider: "moz", targets: 5, ceiling: 19 })
          assert.strictEqual(call.targets, 5)
          yield* close(call, answered(5, 5))
          proxy.doom(fate)
          yield* open({ provider: "moz", targets: 1, ceiling: 19 })
        }
        const [, sums] = yield* days({})
        assert.deepInclude(sums, { calls: 4, targets: 12, rows: 10, cost: 10, unknownTargets: 2 })
      }).pipe(Effect.provide(migrated(Postgres.layer(proxy.url))))
    }),
  )

  const database = migrated(
    Layer.unwrapEffect(Effect.map(temporaryDatabase, (url) => Postgres.layer(url))),
  )

  it.scopedLive("a process sees the calls of another that commits at the same moment", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [one, other] = [yield* process, yield* process]
      const request = { provider: "moz", targets: 5, ceiling: 10 }
      yield* one.open({ ...request, targets: 1 })
      // Those that wait for this transaction, and those that wait for them.
      const waiting = sql`
        WITH waits AS (
          SELECT DISTINCT pid, pg_blocking_pids(pid) AS blockers FROM pg_locks WHERE NOT granted
        )
        SELECT pid FROM waits
        WHERE pg_backend_pid() = ANY (blockers) OR EXISTS (
          SELECT 1 FROM waits first
          WHERE first.pid = ANY (waits.blockers) AND pg_backend_pid() = ANY (first.blockers)
        )`
      const both = yield* sql.withTransaction(
        Effect.gen(function* () {
          // The first call waits here at its last statement, after it has read the sums.
          yield* sql`UPDATE purchase_days SET calls = calls`
          const calls = [one, other].map(({ open }) => Effect.forkDaemon(open(request)))
          const fibers = yield* Effect.all(calls)
          yield* Effect.repeat(waiting, { until: (rows) => rows.length === 2 })
          return fibers
        }),
      )
      const grants = yield* Effect.forEach(both, Fiber.join)
      assert.deepStrictEqual(grants.map(({ targets }) => targets).sort(), [4, 5])
    }).pipe(Effect.provide(database)),
  )

  it.scopedLive(
    "an interrupted opening leaves no unknown call, whether it was committed or not",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { days, open } = yield* process
        const request = { provider: "moz", targets: 5 }
        yield* open(request)
        const lost = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT 1 FROM vendors FOR UPDATE`
            const underWay = yield* Effect.forkDaemon(open(request))
            yield* untilAnotherWaits
            const waiting = yield* Effect.forkDaemon(open(request))
            yield* Effect.yieldNow()
            return [underWay, waiting]
          }).pipe(Effect.tap((fibers) => Effect.forEach(fibers, Fiber.interrupt))),
        )
        assert.lengthOf(lost, 2)
        yield* open(request)
        const [sums] = yield* days({})
        assert.deepInclude(sums, { unknownCalls: 2, unknownTargets: 10 })
      }).pipe(Effect.provide(database)),
  )
})
