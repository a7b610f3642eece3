/** The test suite of the port Costs. It runs over memory and every database. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { type Cost, Costs, monthOf, nothing } from "../../src/providers/costs/Costs.ts"
import * as SqlCosts from "../../src/providers/costs/SqlCosts.ts"
import { steps } from "../../src/database/migrations/migrationSteps.ts"
import * as Postgres from "../../src/database/Postgres.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import { databases, temporaryDatabase } from "../support/Stores.ts"

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
      "days are returned oldest first, and only those that the range touches",
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
      "a month has the sums of its days and of one provider",
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

for (const [name] of databases) {
  it.scoped(`a database of schema 16 on ${name} keeps the sums of its days`, () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const { change, id } of steps) {
        if (id === 17) {
          yield* sql`INSERT INTO purchase_days VALUES ('moz', 20000, 9, 70, 60, 600000, 2, 8)`
          yield* sql`INSERT INTO purchase_days VALUES ('http', 20001, 1, 5, 5, NULL, 0, 0)`
          yield* sql`INSERT INTO purchases VALUES ('x', 'moz', 1728000000000, 5, 'unknown', NULL, NULL, NULL)`
        }
        yield* change
      }
      const { days } = yield* Costs
      assert.deepStrictEqual(yield* days({}), [
        cost({ day: 20_000, calls: 9, rows: 60, cost: 600_000, unanswered: 2 }),
        cost({ day: 20_001, provider: "http", rows: 5 }),
      ])
      for (const table of ["purchase_days", "purchases", "vendor_readings", "vendors", "claims"]) {
        yield* Effect.flip(sql`SELECT * FROM ${sql.literal(table)}`)
      }
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          SqlCosts.layer,
          name === "SQLite"
            ? Sqlite.layer(":memory:")
            : Layer.unwrapEffect(Effect.map(temporaryDatabase, (url) => Postgres.layer(url))),
        ),
      ),
    ),
  )
}
