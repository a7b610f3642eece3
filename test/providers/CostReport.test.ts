import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { within } from "../../src/check/Deadline.ts"
import * as memory from "../support/memory.ts"
import { ProviderError } from "../../src/providers/MetricsProvider.ts"
import { Costs, nothing, type Sum } from "../../src/providers/costs/Costs.ts"
import * as CostReport from "../../src/providers/costs/CostReport.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import { credits, newHold } from "../../scripts/support/ledger.ts"

const ledger = Layer.mergeAll(
  Layer.provideMerge(memory.apiKeys, memory.accounts),
  memory.creditLedger({ lease: "1 minute" }),
)

const program = Layer.merge(ledger, memory.costs)

const dayMs = 86_400_000
const day = Date.UTC(2026, 10, 23)

const buy = (provider: string, time: number, sum: Partial<Sum>) =>
  Effect.flatMap(Costs, ({ add }) =>
    add([{ ...nothing, provider, day: time / dayMs, calls: 1, ...sum }]),
  )

const sell = (amount: number, known: number) =>
  Effect.gen(function* () {
    const { charge } = yield* CreditLedger
    const id = yield* newAccountWith(100)
    yield* charge(newHold(id, amount), { amount: credits(amount), urls: amount, known })
  })

const { report } = CostReport

describe("the provider report", () => {
  it.effect(
    "the provider report has a row for each vendor and day, and ends each day with what was sold",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(day - dayMs)
        yield* sell(9, 9)
        yield* buy("moz", day, { calls: 2, rows: 8, cost: 80_000, unanswered: 1 })
        yield* TestClock.setTime(day)
        yield* sell(8, 1)
        yield* buy("moz", day + dayMs, { failed: 1 })
        yield* buy("http", day + dayMs, { rows: 2 })
        const sold = (day: string, answeredFromCache: number, creditsCharged: number) => ({
          provider: null,
          day,
          answeredFromCache,
          creditsCharged,
        })
        const first = sold("2026-11-22", 9, 9)
        const second = [
          {
            provider: "moz",
            day: "2026-11-23",
            calls: 2,
            rows: 8,
            cost: 0.08,
            failed: 0,
            unanswered: 1,
          },
          sold("2026-11-23", 1, 8),
        ]
        const last = { ...nothing, day: "2026-11-24", calls: 1 }
        const third = [
          { ...last, provider: "http", rows: 2 },
          { ...last, provider: "moz", failed: 1 },
        ]
        assert.deepStrictEqual(yield* report({}), { rows: [first, ...second, ...third] })
        assert.deepStrictEqual((yield* report({ limit: 2 })).rows, third)
        const until = { since: day + 1, until: day + dayMs }
        assert.deepStrictEqual((yield* report(until)).rows, second)
      }).pipe(Effect.provide(program)),
  )

  it.effect(
    "on demand, the provider report asks the vendors and shows their own count beside the month's sum",
    () =>
      Effect.gen(function* () {
        yield* buy("moz", Date.UTC(2026, 10, 1), { rows: 40, cost: 400_000 })
        yield* buy("moz", day, { rows: 2, unanswered: 1 })
        yield* buy("moz", Date.UTC(2026, 9, 31), { rows: 8 })
        yield* TestClock.setTime(day)
        const quota = { unit: "rows", allotted: 3000, left: 2950, resetsAt: day + dayMs }
        const failure = new ProviderError({
          provider: "http",
          reason: "Refused",
          detail: "HTTP 401",
        })
        const asked = yield* Effect.fork(
          report({ limit: 1 }, [
            { provider: "moz", status: Effect.succeed({ quota }) },
            { provider: "open-page-rank", status: Effect.succeed({}) },
            { provider: "http", status: failure },
            { provider: "dataforseo", status: Effect.never },
          ]),
        )
        yield* TestClock.adjust("10 seconds")
        const unasked = { month: nothing, quota: null, error: null }
        assert.deepStrictEqual((yield* asked).counts, [
          {
            provider: "moz",
            month: { calls: 2, rows: 42, cost: 0.4, failed: 0, unanswered: 1 },
            quota: { ...quota, resetsAt: "2026-11-24T00:00:00.000Z" },
            error: null,
          },
          { ...unasked, provider: "open-page-rank" },
          { ...unasked, provider: "http", error: "http refused the caller: HTTP 401" },
          {
            ...unasked,
            provider: "dataforseo",
            error: "dataforseo did not answer in time: no answer in 10 s",
          },
        ])
      }).pipe(Effect.provide(program)),
  )

  it.live("a store that does not answer by the deadline fails with StoreTimeout", () =>
    Effect.gen(function* () {
      const silent = Layer.succeed(Costs, { add: () => Effect.void, days: () => Effect.never })
      const error = yield* within(20)(Effect.flip(report({}))).pipe(
        Effect.provide(Layer.merge(ledger, silent)),
      )
      assert.strictEqual(error._tag, "StoreTimeout")
    }),
  )
})
