/**
 * The SQL statements that change budgets; the store of keys notes the budget of each key. Each
 * change comes after a lock of the account's balance, as in every commit, so the next commit reads
 * the new budget.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { v7 as uuid } from "uuid"
import type { AccountId } from "../Account.ts"
import { type ApiKey, ApiKeyId } from "../ApiKey.ts"
import * as Budget from "./Budget.ts"

export const makeBudgetWrites = (sql: SqlClient.SqlClient) => {
  const current = SqlSchema.findAll({
    Request: ApiKeyId,
    Result: Schema.Struct({ id: Budget.BudgetId, period: Budget.Period }),
    execute: (key) => sql`
      SELECT id, period FROM budgets WHERE id = (SELECT budget_id FROM api_keys WHERE id = ${key})`,
  })

  /** The key, and the keys that share its budget. */
  const sharing = (key: string) => sql`
    SELECT id FROM api_keys WHERE id = ${key}
    OR budget_id = (SELECT budget_id FROM api_keys WHERE id = ${key})`

  const lastHolds = SqlSchema.findAll({
    Request: ApiKeyId,
    Result: Schema.Struct({ heldAt: Schema.NullOr(Schema.Int) }),
    execute: (key) =>
      sql`SELECT MAX(held_at) AS held_at FROM holds WHERE api_key_id IN (${sharing(key)})`,
  })

  const countBudgets = (account: AccountId) => sql`
    UPDATE balances
    SET budgets = (SELECT COUNT(*) FROM budgets WHERE account_id = ${account})
    WHERE account_id = ${account}`

  return {
    /** Locks the balance of an account, and so the budgets of its keys. Every change comes after. */
    lock: (account: AccountId) =>
      sql`UPDATE balances SET budgets = budgets WHERE account_id = ${account}`,

    /** The budget of a key. */
    current,

    /** The key, and the keys that share its budget. */
    keysOf: SqlSchema.findAll({
      Request: ApiKeyId,
      Result: Schema.Struct({ id: ApiKeyId }),
      execute: (key) => sql`${sharing(key)} ORDER BY id`,
    }),

    /** Makes the budget of a key, or changes it. Returns its id. */
    put: Effect.fnUntraced(function* (
      { accountId, id: key }: Pick<ApiKey, "id" | "accountId">,
      { credits, period }: Budget.Budget,
      now: number,
    ) {
      const [former] = yield* current(key)
      if (former?.period === period) {
        yield* sql`UPDATE budgets SET credits = ${credits} WHERE id = ${former.id}`
        return former.id
      }
      const id = former?.id ?? Budget.BudgetId.make(uuid())
      const [last] = yield* lastHolds(key)
      // After every open hold, also of a process whose clock is ahead: they count nowhere.
      const since = Math.max(now, (last?.heldAt ?? 0) + 1)
      yield* sql`DELETE FROM budget_uses WHERE budget_id = ${id}`
      yield* sql`
        INSERT INTO budgets (id, account_id, credits, period, since)
        VALUES (${id}, ${accountId}, ${credits}, ${period}, ${since})
        ON CONFLICT (id) DO UPDATE
        SET credits = excluded.credits, period = excluded.period, since = excluded.since`
      yield* countBudgets(accountId)
      return id
    }),

    /** Removes budgets that no key has any more. */
    remove: Effect.fnUntraced(function* (
      account: AccountId,
      budgets: ReadonlyArray<{ readonly id: Budget.BudgetId }>,
    ) {
      for (const { id } of budgets) {
        yield* sql`DELETE FROM budget_uses WHERE budget_id = ${id}`
        yield* sql`DELETE FROM budgets WHERE id = ${id}`
      }
      yield* countBudgets(account)
    }),
  }
}
