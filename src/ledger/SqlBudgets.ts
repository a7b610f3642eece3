/** The SQL statements that read budgets and their use. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { ApiKeyId } from "../ApiKey.ts"
import * as Budget from "./Budget.ts"
import { Budgets } from "./Budgets.ts"
import { Credits } from "./Credits.ts"
import * as TypeGuard from "../schema/TypeGuard.ts"
import { execute } from "../sql/prepared.ts"
import { isAmong, isAmongNumbers } from "../sql/bulkRows.ts"

/** One row for each key and each of the periods that were used. */
const Row = Schema.Struct({
  apiKeyId: ApiKeyId,
  id: Budget.BudgetId,
  credits: Credits,
  period: Budget.Period,
  since: Schema.Int,
  /** Null when none of the periods was used. */
  start: Schema.NullOr(Schema.Int),
  charged: Schema.NullOr(Credits),
  held: Schema.NullOr(Credits),
  holds: Schema.NullOr(Schema.Int),
})
const decode = TypeGuard.decoder(Schema.Array(Row))

/**
 * Returns a function that reads the budgets of keys, and their uses in the periods that contain the
 * given times. A commit that has locked the balances of the keys' accounts needs no other lock:
 * every change of a budget or its use locks the balance first.
 */
export const makeReadBudgets = (sql: SqlClient.SqlClient) => {
  const [text] = sql`
    SELECT k.id AS "apiKeyId", b.id AS id, b.credits AS credits, b.period AS period,
      b.since AS since, u.start AS start, u.charged AS charged, u.held AS held, u.holds AS holds
    FROM api_keys k JOIN budgets b ON b.id = k.budget_id
    LEFT JOIN budget_uses u
      ON u.budget_id = b.id AND (u.start = b.since OR u.start ${isAmongNumbers(sql, [])})
    WHERE k.id ${isAmong(sql, [])}`.compile()
  return (keys: ReadonlyArray<ApiKeyId>, times: ReadonlyArray<number>) => {
    const starts = times.flatMap((time) =>
      Budget.Period.literals.map((period) => Budget.startOf(period, time)),
    )
    const parameters = [starts, keys].map((some) => JSON.stringify([...new Set<unknown>(some)]))
    return Effect.flatMap(execute(sql, text, parameters), (rows) =>
      Either.mapBoth(decode(rows), { onLeft: ParseResult.parseError, onRight: budgetsOf }),
    )
  }
}

const budgetsOf = (rows: ReadonlyArray<typeof Row.Type>) =>
  new Budgets(
    rows.map(({ apiKeyId, credits, id, period, since }) => [
      apiKeyId,
      { id, credits, period, since },
    ]),
    rows.flatMap(({ charged, held, holds, id, start }) =>
      start === null || charged === null || held === null || holds === null
        ? []
        : { id, start, use: { charged, held, holds } },
    ),
  )
