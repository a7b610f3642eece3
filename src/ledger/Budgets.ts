/**
 * The budgets of some API keys and their use, with the rules that change the use. The store
 * makes one `Budgets` for each transaction.
 */
import type { ApiKeyId } from "../ApiKey.ts"
import * as Budget from "./Budget.ts"
import { type Credits, creditsOf } from "./Credits.ts"

/** The budget in force for some keys. */
export interface InForce extends Budget.Budget {
  readonly id: Budget.BudgetId
  /** What was held before this time counts nowhere. Epoch milliseconds. */
  readonly since: number
}

/** The use of a budget from `start` (epoch milliseconds) to the end of that period. */
export interface UseIn {
  readonly id: Budget.BudgetId
  readonly start: number
  readonly use: Budget.Use
}

/** A hold, as a budget counts it. */
export interface Counted {
  readonly apiKeyId: ApiKeyId
  readonly amount: Credits
  /** The time of the commit that opened the hold, in epoch milliseconds. */
  readonly heldAt: number
}

export class Budgets {
  private readonly byKey: Map<ApiKeyId, InForce>
  private readonly uses: Map<string, UseIn>
  private readonly changed = new Set<string>()

  constructor(budgets: Iterable<readonly [ApiKeyId, InForce]> = [], uses: Iterable<UseIn> = []) {
    this.byKey = new Map(budgets)
    this.uses = new Map(Array.from(uses, (use) => [idOf(use.id, use.start), use]))
  }

  /** The use of a key's budget at a time; undefined when the key has no budget. */
  private spent(key: ApiKeyId, now: number): Budget.Spent | undefined {
    const budget = this.byKey.get(key)
    const at = this.timeOf(key, now)
    return budget && Budget.spent(budget, this.useAt(budget, at), at)
  }

  /** The uses of the budgets of keys, without the keys that have none. */
  spentBy(keys: ReadonlyArray<ApiKeyId>, now: number): ReadonlyMap<ApiKeyId, Budget.Spent> {
    return new Map(
      keys.flatMap((key) => {
        const spent = this.spent(key, now)
        return spent === undefined ? [] : [[key, spent] as const]
      }),
    )
  }

  /** The uses that changed since this object was made. */
  get changedUses(): ReadonlyArray<UseIn> {
    return Array.from(this.changed).flatMap((id) => this.uses.get(id) ?? [])
  }

  /**
   * The time as which the key's budget counts a hold. A budget counts nothing before `since`, so a
   * process whose clock is behind counts at that time.
   */
  timeOf(key: ApiKeyId, now: number): number {
    return Math.max(now, this.byKey.get(key)?.since ?? now)
  }

  /** Checks that a hold fits into the budget of its key. */
  refusalOf({ amount, apiKeyId, heldAt }: Counted): Budget.BudgetExceeded | undefined {
    const budget = this.byKey.get(apiKeyId)
    return budget && Budget.refusalOf(budget, this.useAt(budget, heldAt), amount, heldAt)
  }

  /** Counts a hold that was opened. */
  open({ amount, apiKeyId, heldAt }: Counted) {
    this.count(apiKeyId, heldAt, ({ charged, held, holds }) => ({
      charged,
      held: creditsOf(held + amount),
      holds: holds + 1,
    }))
  }

  /** Counts the end of an open hold, and its charge. */
  end({ amount, apiKeyId, heldAt }: Counted, charge: number) {
    this.count(apiKeyId, heldAt, ({ charged, held, holds }) => ({
      charged: creditsOf(charged + charge),
      held: creditsOf(held - amount),
      holds: holds - 1,
    }))
  }

  /** Counts a charge without a hold. */
  charge(apiKeyId: ApiKeyId, heldAt: number, charge: number) {
    this.count(apiKeyId, heldAt, (use) => ({ ...use, charged: creditsOf(use.charged + charge) }))
  }

  private useAt(budget: InForce, at: number): Budget.Use {
    return this.uses.get(idOf(budget.id, startIn(budget, at)))?.use ?? Budget.unused
  }

  private count(key: ApiKeyId, at: number, change: (use: Budget.Use) => Budget.Use) {
    const budget = this.byKey.get(key)
    if (budget === undefined || at < budget.since) return
    const start = startIn(budget, at)
    const id = idOf(budget.id, start)
    this.uses.set(id, { id: budget.id, start, use: change(this.useAt(budget, at)) })
    this.changed.add(id)
  }
}

/** The first period of a budget starts when the budget is set. */
const startIn = ({ period, since }: InForce, at: number) =>
  Math.max(since, Budget.startOf(period, at))

const idOf = (id: Budget.BudgetId, start: number) => `${id} ${start}`
