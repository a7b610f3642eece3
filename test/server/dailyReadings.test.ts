import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import * as MemoryCreditLedger from "../../src/memory/CreditLedger.ts"
import * as MemoryPurchases from "../../src/memory/Purchases.ts"
import { MetricsProvider, nothingKnown, ProviderError } from "../../src/MetricsProvider.ts"
import * as ProviderReport from "../../src/ProviderReport.ts"
import { Purchases } from "../../src/Purchases.ts"
import * as dailyReadings from "../../src/server/dailyReadings.ts"

const setUp = Effect.gen(function* () {
  const asked: Array<string> = []
  const log: Array<string> = []
  let left = 3000
  let isDown = false
  const purchases = yield* Layer.build(MemoryPurchases.layer)

  const circuit = (provider: string, unit: string) => ({
    provider,
    openReason: undefined,
    status: Effect.suspend(() => {
      asked.push(provider)
      return isDown
        ? new ProviderError({ provider, reason: "Timeout", detail: "as scripted" })
        : Effect.succeed({ quota: { unit, allotted: 3000, left, resetsAt: null } })
    }),
  })
  const provider = Layer.succeed(MetricsProvider, {
    name: "moz,http",
    known: nothingKnown,
    lookup: () => Effect.die("not asked"),
    circuits: Effect.succeed([
      circuit("moz", "rows"),
      circuit("http", "credits"),
      { provider: "open-page-rank", openReason: undefined },
    ]),
  })
  /** Starts a replica. All replicas share the purchases. */
  const replica = Layer.build(
    Layer.fresh(dailyReadings.layer).pipe(
      Layer.provide(Layer.fresh(ProviderReport.layer)),
      Layer.provide([provider, MemoryCreditLedger.layer({ lease: "1 minute" })]),
      Layer.provide(Layer.succeedContext(purchases)),
      Layer.provide(
        Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ message }) => void log.push(String(message))),
        ),
      ),
    ),
  )
  return {
    asked,
    log,
    replica,
    use: (rows: number) => void (left -= rows),
    setDown: (value: boolean) => void (isDown = value),
    readings: Context.get(purchases, Purchases).readings({ limit: 100 }),
  }
})

describe("the daily comparison", () => {
  it.scoped("replicas read a vendor's count once on each UTC day, and warn of a difference", () =>
    Effect.gen(function* () {
      const { asked, log, readings, replica, use } = yield* setUp
      yield* TestClock.setTime(Date.UTC(2026, 10, 23, 12))
      yield* replica
      yield* replica
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(yield* readings, 1)
      yield* TestClock.adjust("11 hours")
      assert.lengthOf(yield* readings, 1)
      assert.lengthOf(
        asked.filter((name) => name === "http"),
        2,
        "each replica asks a vendor without a count once",
      )
      use(5)
      yield* TestClock.adjust("3 hours")
      assert.deepStrictEqual(
        (yield* readings).map(({ provider, used }) => [provider, used]),
        [
          ["moz", 5],
          ["moz", 0],
        ],
      )
      assert.deepStrictEqual(log, [
        "The vendor moz counts other costs than the purchases of this service. Difference since 2026-11-23T12:01:00.000Z: 5 rows. To see both, run 'authority provider report'.",
      ])
    }),
  )

  it.scoped("a vendor that does not answer is asked again in an hour", () =>
    Effect.gen(function* () {
      const { log, readings, replica, setDown } = yield* setUp
      setDown(true)
      yield* replica
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(yield* readings, 0)
      assert.match(log.join("\n"), /A vendor did not report what it counts as used/)
      setDown(false)
      yield* TestClock.adjust("80 minutes")
      assert.lengthOf(yield* readings, 1)
    }),
  )
})
