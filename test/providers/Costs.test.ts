/** The test suite of the port Costs. It runs over memory and every database. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { type Cost, Costs, monthOf, nothing } from "../../src/providers/costs/Costs.ts"
import * as SqlCosts from "../../src/providers/costs/SqlCosts.ts"
import { databases } from "../support/Stores.ts"

const stores = databases.map(
  ([name, database]) => [name, Layer.provide(SqlCosts.layer, database)] as const,
)

const dayMs = 86_400_000
const today = Date.UTC(2026, 10, 24)

const cost = (more: Partial<Cost>): Cost => ({
  ...nothing,
  provider: "moz",
  day: today / dayMs,
  calls: 1,
  ...more,
})

for (const [name, layer] of stores) {
  describe(`Costs in ${name}`, () => {
    const test = (title: string, body: Effect.Effect<void, unknown, Costs>) =>
      it.effect(title, () => Effect.provide(body, layer))

    test(
      "costs are added to the sums of their provider and day",
      Effect.gen(function* () {
        const { add, days } = yield* Costs
        yield* add([cost({ rows: 3 }), cost({ rows: 4, cost: 7 }), cost({ unanswered: 1 })])
        yield* add([cost({ failed: 1, cost: 0 }), cost({ provider: "http", rows: 2 })])
        yield* add([cost({ rows: 1 })])
        assert.deepStrictEqual(yield* days({}), [
          cost({ provider: "http", rows: 2 }),
          cost({ calls: 5, rows: 8, cost: 7, failed: 1, unanswered: 1 }),
        ])
      }),
    )

    test(
      "costs are listed by day, oldest first, for every day that the range touches",
      Effect.gen(function* () {
        const { add, days } = yield* Costs
        const on = (n: number) => cost({ day: today / dayMs + n })
        const [first, second, third] = [on(0), on(1), on(2)]
        yield* add([third, first])
        yield* add([second])
        assert.deepStrictEqual(yield* days({}), [first, second, third])
        assert.deepStrictEqual(yield* days({ since: today + 2 * dayMs - 1 }), [second, third])
        assert.deepStrictEqual(yield* days({ until: today + dayMs }), [first])
      }),
    )

    test(
      "the costs of a month are the sums of one provider over its days",
      Effect.gen(function* () {
        const costs = yield* Costs
        const on = (time: number, rows: number) => cost({ day: time / dayMs, rows })
        yield* costs.add([
          on(Date.UTC(2026, 9, 31), 1),
          on(Date.UTC(2026, 10, 1), 2),
          on(Date.UTC(2026, 10, 30), 4),
          on(Date.UTC(2026, 11, 1), 8),
          cost({ provider: "http", rows: 16 }),
        ])
        yield* TestClock.setTime(today)
        assert.deepStrictEqual(yield* monthOf(costs, "moz"), { ...nothing, calls: 2, rows: 6 })
        yield* TestClock.setTime(Date.UTC(2026, 11, 1))
        assert.deepInclude(yield* monthOf(costs, "moz"), { rows: 8 })
      }),
    )
  })
}
