/** The SQL statements that read budgets and their use. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { ApiKeyId } from "../ApiKey.ts"
import type { AccountBudgets } from "./Audit.ts"
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

const json = <A, I>(row: Schema.Schema<A, I>) => Schema.parseJson(Schema.Array(row))

/** The budgets of one account, which `selectBudgets` selects. */
export const AuditedBudgets = Schema.Struct({
  /** The number of budgets that the balance records. */
  budgets: Schema.Int,
  budgetRows: Schema.Int,
  budgetKeys: json(
    Schema.Struct({
      apiKeyId: ApiKeyId,
      id: Budget.BudgetId,
      credits: Credits,
      period: Budget.Period,
      since: Schema.Int,
    }),
  ),
  budgetUses: json(Schema.Struct({ id: Budget.BudgetId, start: Schema.Int, ...Budget.Use.fields })),
  budgetHolds: json(Schema.Struct({ apiKeyId: ApiKeyId, heldAt: Schema.Int, amount: Credits })),
})

/** Selects the budgets of the account `a` with its balance `b`, as columns of one row. */
export const selectBudgets = (sql: SqlClient.SqlClient) => {
  const rows = (columns: Readonly<Record<string, string>>, from: string) => {
    const pairs = Object.entries(columns).flatMap(([name, column]) => [`'${name}'`, column])
    const object = sql.onDialectOrElse({
      sqlite: () => `json_group_array(json_object(${pairs.join()}))`,
      orElse: () => `CAST(COALESCE(json_agg(json_build_object(${pairs.join()})), '[]') AS TEXT)`,
    })
    return sql.literal(`(SELECT ${object} FROM budgets g ${from} WHERE g.account_id = a.id)`)
  }
  const keys = "JOIN api_keys k ON k.budget_id = g.id"
  const budget = { id: "g.id", credits: "g.credits", period: "g.period", since: "g.since" }
  const use = { charged: "u.charged", held: "u.held", holds: "u.holds" }
  const hold = { apiKeyId: "h.api_key_id", heldAt: "h.held_at", amount: "h.amount" }
  return sql`
    COALESCE(b.budgets, 0) AS budgets,
    (SELECT COUNT(*) FROM budgets g WHERE g.account_id = a.id) AS budget_rows,
    ${rows({ apiKeyId: "k.id", ...budget }, keys)} AS budget_keys,
    ${rows({ id: "g.id", start: "u.start", ...use }, "JOIN budget_uses u ON u.budget_id = g.id")}
      AS budget_uses,
    ${rows(hold, `${keys} JOIN holds h ON h.api_key_id = k.id`)} AS budget_holds`
}

/** The budgets of an account for its audit. */
export const auditedBudgets = ({
  budgetHolds,
  budgetKeys,
  budgetRows,
  budgets,
  budgetUses,
}: typeof AuditedBudgets.Type): AccountBudgets => ({
  existing: budgetRows,
  recorded: budgets,
  budgets: budgetKeys.map(({ apiKeyId, ...budget }) => [apiKeyId, budget]),
  uses: budgetUses.map(({ id, start, ...use }) => ({ id, start, use })),
  holds: budgetHolds,
})
