/**
 * The SQL of budgets and their use; `SqlApiKeys` stores which budget a key has. Every change first
 * locks the account's balance, as a commit does, so that the next commit reads the new budget.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { v7 as uuid } from "uuid"
import type { AccountId } from "../../accounts/Account.ts"
import { type ApiKey, ApiKeyId } from "../../accounts/ApiKey.ts"
import * as Budget from "./Budget.ts"
import { Budgets, type UseIn } from "./Budgets.ts"
import { Credits } from "../Credits.ts"
import * as BulkRows from "../../database/rows/bulkRows.ts"

/**
 * One row for each key and each period in which it used its budget; a row of 0 when there is none.
 */
const decodeRows = BulkRows.decoder(
  Schema.Struct({
    apiKeyId: ApiKeyId,
    budgetId: Budget.BudgetId,
    credits: Credits,
    period: Budget.Period,
    since: Schema.Int,
    start: Schema.Int,
    charged: Credits,
    held: Credits,
    holds: Schema.Int,
  }),
)

/**
 * Returns a function that reads the budgets of keys and their use in the period that contains
 * `earliest` (epoch milliseconds) and in later ones. It takes no locks: the caller has locked the
 * accounts' balances, which every change of a budget or its use locks first.
 */
export const makeRead = (sql: SqlClient.SqlClient) => {
  const [text] = sql`
    SELECT k.id AS "apiKeyId", b.id AS "budgetId", b.credits AS credits, b.period AS period,
      b.since AS since, COALESCE(u.start, b.since) AS start, COALESCE(u.charged, 0) AS charged,
      COALESCE(u.held, 0) AS held, COALESCE(u.holds, 0) AS holds
    FROM api_keys k JOIN budgets b ON b.id = k.budget_id
    LEFT JOIN budget_uses u ON u.budget_id = b.id AND (u.start = b.since OR u.start >=
      CASE b.period WHEN 'day' THEN CAST(${0} AS BIGINT) ELSE CAST(${0} AS BIGINT) END)
    WHERE k.id ${BulkRows.isAmong(sql, [])}`.compile()
  return (keys: ReadonlyArray<ApiKeyId>, earliest: number) =>
    BulkRows.execute(sql, text, [
      Budget.startOf("day", earliest),
      Budget.startOf("month", earliest),
      JSON.stringify([...new Set(keys)]),
    ]).pipe(
      Effect.flatMap(decodeRows),
      Effect.map((rows) => {
        const budgets = rows.map((row) => [row.apiKeyId, row] as const)
        return new Budgets(budgets, rows)
      }),
    )
}

const budgetUses: BulkRows.Table<UseIn> = {
  name: "budget_uses",
  texts: ["budget_id"],
  numbers: ["start", "charged", "held", "holds"],
  key: ["budget_id", "start"],
}

/** Inserts how much of the budgets was used, replacing the rows of the same periods. */
export const useInserter = (sql: SqlClient.SqlClient) => BulkRows.inserter(sql, budgetUses)

export const makeWrites = (sql: SqlClient.SqlClient) => {
  const current = SqlSchema.findAll({
    Request: ApiKeyId,
    Result: Schema.Struct({ id: Budget.BudgetId, period: Budget.Period }),
    execute: (key) => sql`
      SELECT id, period FROM budgets WHERE id = (SELECT budget_id FROM api_keys WHERE id = ${key})`,
  })

  const sharing = (key: string) => sql`
    SELECT id FROM api_keys WHERE id = ${key}
    OR budget_id = (SELECT budget_id FROM api_keys WHERE id = ${key})`

  const countBudgets = (account: AccountId) => sql`
    UPDATE balances
    SET budgets = (SELECT COUNT(*) FROM budgets WHERE account_id = ${account})
    WHERE account_id = ${account}`

  return {
    /**
     * Locks the account's balance, and so the budgets of its keys. Every change must call it first.
     */
    lock: (account: AccountId) =>
      sql`UPDATE balances SET budgets = budgets WHERE account_id = ${account}`,

    current,

    /** Finds the keys that share the budget of a key, including this key. */
    keysOf: SqlSchema.findAll({
      Request: ApiKeyId,
      Result: Schema.Struct({ id: ApiKeyId }),
      execute: (key) => sql`${sharing(key)} ORDER BY id`,
    }),

    /** Creates or changes the budget of a key. Returns the budget's id. */
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
      yield* sql`DELETE FROM budget_uses WHERE budget_id = ${id}`
      // The budget starts after every open hold, even one opened by a process whose clock is ahead,
      // so that no open hold counts towards it.
      yield* sql`
        INSERT INTO budgets (id, account_id, credits, period, since)
        SELECT ${id}, ${accountId}, CAST(${credits} AS BIGINT), ${period}, MAX(time) FROM (
          SELECT CAST(${now} AS BIGINT) AS time
          UNION ALL SELECT held_at + 1 FROM holds WHERE api_key_id IN (${sharing(key)})
        ) AS times WHERE TRUE
        ON CONFLICT (id) DO UPDATE
        SET credits = excluded.credits, period = excluded.period, since = excluded.since`
      yield* countBudgets(accountId)
      return id
    }),

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
