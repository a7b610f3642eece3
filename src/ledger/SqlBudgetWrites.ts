/**
 * The SQL statements that change budgets and their uses; the store of keys notes the budget of each
 * key. Each change comes after a lock of the account's balance, as in every commit, so the next
 * commit reads the new budget.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { v7 as uuid } from "uuid"
import { AccountId } from "../Account.ts"
import { type ApiKey, ApiKeyId } from "../ApiKey.ts"
import * as Budget from "./Budget.ts"
import { Budgets } from "./Budgets.ts"
import { Credits } from "./Credits.ts"
import { isAmong } from "../sql/bulkRows.ts"
import { useInserter } from "./SqlLedgerWrites.ts"

type Owner = Pick<ApiKey, "id" | "accountId">

/** The charges of some keys up to an entry of their account, by UTC day. */
interface Scan {
  readonly keys: ReadonlyArray<ApiKeyId>
  readonly entries: number
  readonly days: ReadonlyArray<{ readonly day: number; readonly charged: Credits }>
}

/** The scan of a key without entries. */
export const nothing: Scan = { keys: [], entries: 0, days: [] }

export const makeBudgetWrites = (sql: SqlClient.SqlClient) => {
  const reads = makeReads(sql)
  const { current, keysOf } = reads
  const { countUses, scan } = makeCounts(sql, reads)

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
    keysOf,

    /** Reads a key's entries without a lock, so that `put` holds the lock only for the last ones. */
    scan: (owner: Owner) => scan(owner),

    /** Makes the budget of a key, or changes it. Returns its id. */
    put: Effect.fnUntraced(function* (
      owner: Owner,
      { credits, period }: Budget.Budget,
      now: number,
      scanned: Scan,
    ) {
      const [former] = yield* current(owner.id)
      if (former?.period === period) {
        yield* sql`UPDATE budgets SET credits = ${credits} WHERE id = ${former.id}`
        return former.id
      }
      const id = former?.id ?? Budget.BudgetId.make(uuid())
      const since = Budget.startOf(period, now)
      yield* sql`
        INSERT INTO budgets (id, account_id, credits, period, since)
        VALUES (${id}, ${owner.accountId}, ${credits}, ${period}, ${since})
        ON CONFLICT (id) DO UPDATE
        SET credits = excluded.credits, period = excluded.period, since = excluded.since`
      yield* countUses(owner, { id, credits, period, since }, scanned)
      yield* countBudgets(owner.accountId)
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

/** Counts anew what the keys of a budget have used. */
const makeCounts = (
  sql: SqlClient.SqlClient,
  { chargesOf, entriesOf, holdsOf, keysOf }: ReturnType<typeof makeReads>,
) => {
  const putUses = useInserter(sql)

  /** Reads on from an earlier scan, if it was of the same keys. */
  const scan = Effect.fnUntraced(function* ({ accountId, id }: Owner, earlier = nothing) {
    const keys = (yield* keysOf(id)).map((key) => key.id)
    const [{ entries } = { entries: 0 }] = yield* entriesOf(accountId)
    const isSame = JSON.stringify(keys) === JSON.stringify(earlier.keys)
    const { days, entries: after } = isSame ? earlier : nothing
    const later = yield* chargesOf({ accountId, keys, after, entries })
    return { keys, entries, days: [...days, ...later] }
  })

  /** Counts what the keys of a budget have charged and held since its first period began. */
  const countUses = Effect.fnUntraced(function* (
    owner: Owner,
    budget: Budget.Budget & { readonly id: Budget.BudgetId; readonly since: number },
    earlier: Scan,
  ) {
    const { days, keys } = yield* scan(owner, earlier)
    const budgets = new Budgets([[owner.id, budget]])
    for (const { charged, day } of days) budgets.charge(owner.id, day * Budget.dayMs, charged)
    for (const hold of yield* holdsOf({ accountId: owner.accountId, keys })) {
      budgets.open({ ...hold, apiKeyId: owner.id })
    }
    yield* sql`DELETE FROM budget_uses WHERE budget_id = ${budget.id}`
    yield* putUses(budgets.changedUses)
  })

  return { scan, countUses }
}

const makeReads = (sql: SqlClient.SqlClient) => ({
  current: SqlSchema.findAll({
    Request: ApiKeyId,
    Result: Schema.Struct({ id: Budget.BudgetId, period: Budget.Period }),
    execute: (key) => sql`
      SELECT id, period FROM budgets WHERE id = (SELECT budget_id FROM api_keys WHERE id = ${key})`,
  }),

  /** The key, and the keys that share its budget. */
  keysOf: SqlSchema.findAll({
    Request: ApiKeyId,
    Result: Schema.Struct({ id: ApiKeyId }),
    execute: (key) => sql`
      SELECT id FROM api_keys WHERE id = ${key}
      OR budget_id = (SELECT budget_id FROM api_keys WHERE id = ${key}) ORDER BY id`,
  }),

  entriesOf: SqlSchema.findAll({
    Request: AccountId,
    Result: Schema.Struct({ entries: Schema.Int }),
    execute: (account) => sql`SELECT entries FROM balances WHERE account_id = ${account}`,
  }),

  /** A charge counts on the day on which its hold was opened. */
  chargesOf: SqlSchema.findAll({
    Request: Schema.Struct({
      accountId: AccountId,
      keys: Schema.Array(ApiKeyId),
      after: Schema.Int,
      entries: Schema.Int,
    }),
    Result: Schema.Struct({ day: Schema.Int, charged: Credits }),
    execute: ({ accountId, after, entries, keys }) => sql`
      SELECT day, CAST(SUM(amount) AS BIGINT) AS charged FROM (
        SELECT COALESCE(held_at, at) / ${sql.literal(String(Budget.dayMs))} AS day, amount FROM entries
        WHERE account_id = ${accountId} AND sequence > ${after} AND sequence <= ${entries}
          AND api_key_id ${isAmong(sql, keys)}
      ) AS charges GROUP BY day`,
  }),

  holdsOf: SqlSchema.findAll({
    Request: Schema.Struct({ accountId: AccountId, keys: Schema.Array(ApiKeyId) }),
    Result: Schema.Struct({ amount: Credits, heldAt: Schema.Int }),
    execute: ({ accountId, keys }) => sql`
      SELECT amount, held_at FROM holds
      WHERE account_id = ${accountId} AND api_key_id ${isAmong(sql, keys)}`,
  }),
})
