import { assert, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import { figures, hold } from "../../scripts/support/ledger.ts"
import { stores } from "../support/Stores.ts"

for (const [name, store] of stores) {
  layer(store)(`tampered books in ${name}`, (it) => {
    it.effect(
      "if the balance of one account was tampered with, only this account's holds fail, not the holds of other accounts in the same commit",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const [bad, good] = [yield* newAccountWith(10), yield* newAccountWith(10)]
          yield* sql`UPDATE balances SET entries = -1 WHERE account_id = ${bad}`
          const outcomes = yield* Effect.forEach(
            [good, bad, good, bad, good],
            (account) => Effect.exit(hold(account, 1)),
            { concurrency: "unbounded" },
          )
          assert.deepStrictEqual(outcomes.map(Exit.isSuccess), [true, false, true, false, true])
          assert.strictEqual((yield* figures(good)).held, 3)
          yield* sql`UPDATE balances SET entries = 1 WHERE account_id = ${bad}`
          assert.strictEqual((yield* figures(bad)).held, 0)
          yield* hold(bad, 1)
        }),
    )
  })
}
