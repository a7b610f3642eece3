/** The budgets of API keys in memory, which the stores of keys and of credits share. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { v7 as uuid } from "uuid"
import type { ApiKey, ApiKeyId } from "../ApiKey.ts"
import type { Books } from "../ledger/Books.ts"
import * as Budget from "../ledger/Budget.ts"
import { Budgets } from "../ledger/Budgets.ts"

export class KeyBudgets extends Context.Tag("authority/memory/KeyBudgets")<
  KeyBudgets,
  {
    readonly budgets: Budgets
    /** The books of the ledger; absent when another ledger is used. */
    books?: Books
  }
>() {}

export const layer = Layer.sync(KeyBudgets, () => KeyBudgets.of({ budgets: new Budgets() }))

/** Returns a function that adds the budget of a key to its record. */
export const makeWithBudget =
  ({ budgets }: KeyBudgets["Type"]) =>
  (record: ApiKey): ApiKey => {
    const { credits, period } = budgets.of(record.id) ?? {}
    const hasNone = credits === undefined || period === undefined
    return { ...record, budget: hasNone ? null : { credits, period } }
  }

/** Changes the budget of a key and of the keys that share it, and counts their use. */
export const change = (
  { books, budgets }: KeyBudgets["Type"],
  key: ApiKeyId,
  budget: Budget.Budget | null,
  now: number,
) => {
  const former = budgets.of(key)
  const keys = budgets.sharing(key)
  if (budget === null || former?.period === budget.period) {
    const next = budget === null || former === undefined ? undefined : { ...former, ...budget }
    for (const one of keys) budgets.put(one, next)
    return
  }
  const id = former?.id ?? Budget.BudgetId.make(uuid())
  const inForce = { id, ...budget, since: Budget.startOf(budget.period, now) }
  const counted = new Budgets(keys.map((one) => [one, inForce]))
  for (const { amount, apiKeyId, at, heldAt } of books?.newEntries ?? []) {
    if (apiKeyId != null) counted.charge(apiKeyId, heldAt ?? at, amount)
  }
  for (const { amount, apiKeyId, heldAt } of books?.openHolds ?? []) {
    if (apiKeyId != null && heldAt !== null) counted.open({ amount, apiKeyId, heldAt })
  }
  for (const one of keys) budgets.put(one, inForce)
  budgets.putUses(id, counted.changedUses)
}
