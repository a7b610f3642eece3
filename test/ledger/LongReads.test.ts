/**
 * Tests that reads of many rows are correct although they are split, and let the event loop turn in
 * between.
 */
import { setImmediate, clearImmediate } from "node:timers"
import { assert, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { credits } from "../../scripts/support/ledger.ts"
import { stores } from "../support/Stores.ts"

const accounts = 25_000

/** Gives account n a grant of n credits and a use of n % 7 with one key on each of two days. */
const fill = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.gen(function* () {
    const id = sql.onDialectOrElse({
      sqlite: () => sql.literal("printf('a-%06d', n)"),
      orElse: () => sql.literal("'a-' || lpad(n::text, 6, '0')"),
    })
    const numbers = sql`
      WITH RECURSIVE numbers (n) AS (
        SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${accounts - 1}
      )`
    yield* sql`INSERT INTO accounts (id, name, created_at)
      ${numbers} SELECT ${id}, 'account ' || n, 0 FROM numbers`
    yield* sql`INSERT INTO balances (account_id, granted, charged, held, entries, head)
      ${numbers} SELECT ${id}, n + 1, 0, 1, 0, '' FROM numbers`
    yield* sql`INSERT INTO usage
      ${numbers} SELECT ${id}, day, 'k', n % 7, n % 7, 0, 0, 0, 0
      FROM numbers CROSS JOIN (SELECT 10 AS day UNION ALL SELECT 11) AS days`
  }),
)

/** Counts the turns of the event loop during an effect. */
const turnsOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    let turns = 0
    const turn = () => {
      turns++
      next = setImmediate(turn)
    }
    let next = setImmediate(turn)
    return Effect.ensuring(
      Effect.map(effect, (result) => ({ result, turns })),
      Effect.sync(() => clearImmediate(next)),
    )
  })

for (const [name, store] of stores) {
  layer(store, { timeout: 60_000 })(`long reads in ${name}`, (it) => {
    it.effect(
      "sums over all accounts are correct, and other work continues while they are computed",
      () =>
        Effect.gen(function* () {
          yield* fill
          const { totals, usage } = yield* CreditLedger
          const sums = yield* totals([credits(1), credits(1000), credits(100_000)])
          assert.deepStrictEqual(sums, {
            held: credits(accounts),
            accountsBelow: [1, 1000, accounts],
          })

          const [six] = [Math.floor(accounts / 7)]
          const top = yield* turnsOf(usage({ by: "account", limit: 3 }))
          assert.deepStrictEqual(
            top.result.map(({ accountId, accountName, credits }) => [
              accountId,
              accountName,
              credits,
            ]),
            [6, 13, 20].map((n) => [`a-${String(n).padStart(6, "0")}`, `account ${n}`, 12]),
          )
          const days = yield* usage({ by: "day" })
          const perDay =
            six * 21 + [0, 1, 2, 3, 4, 5].slice(0, accounts % 7).reduce((a, b) => a + b, 0)
          assert.deepStrictEqual(
            days.map(({ credits, day }) => [day, credits]),
            [
              [10, perDay],
              [11, perDay],
            ],
          )
          assert.lengthOf(yield* usage({ by: "key" }), accounts)
          if (name === "SQLite") assert.isAbove(top.turns, 10)
        }),
    )
  })
}
