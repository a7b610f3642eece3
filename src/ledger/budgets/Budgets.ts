/**
 * The budgets of some API keys, how much of them is used, and the rules that change this. The store
 * makes one `Budgets` for each transaction.
 */
import type { ApiKeyId } from "../../accounts/ApiKey.ts"
import * as Budget from "./Budget.ts"
import { creditsOf } from "../Credits.ts"
import type { Hold } from "../Hold.ts"

/** The budget currently in force for a key. */
export interface InForce extends Budget.Budget {
  readonly budgetId: Budget.BudgetId
  /** The budget ignores what was held before this time, in epoch milliseconds. */
  readonly since: number
}

/** How much of a budget is used from `start` (epoch milliseconds) to the end of that period. */
export interface UseIn extends Budget.Use {
  readonly budgetId: Budget.BudgetId
  readonly start: number
}

/** The part of a hold that a budget counts. */
type Counted = Pick<Hold, "amount" | "apiKeyId">

export class Budgets {
  private readonly byKey: Map<Hold["apiKeyId"], InForce>
  private readonly uses: Map<string, UseIn>
  private readonly changed = new Map<string, UseIn>()

  constructor(budgets: Iterable<readonly [ApiKeyId, InForce]> = [], uses: Iterable<UseIn> = []) {
    this.byKey = new Map<Hold["apiKeyId"], InForce>(budgets)
    this.uses = new Map(Array.from(uses, (use) => [idOf(use), use]))
  }

  get changedUses(): ReadonlyArray<UseIn> {
    return [...this.changed.values()]
  }

  /** Returns how much of their budgets the keys have used. Leaves out keys without a budget. */
  spentBy(keys: ReadonlyArray<ApiKeyId>, now: number): ReadonlyMap<ApiKeyId, Budget.Spent> {
    return new Map(
      keys.flatMap((key) => {
        const budget = this.byKey.get(key)
        const at = this.timeOf(key, now)
        return budget ? [[key, Budget.spent(budget, this.useAt(budget, at), at)] as const] : []
      }),
    )
  }

  /**
   * The time at which the key's budget counts a hold. A process whose clock is behind counts it at
   * `since`, because a budget ignores anything earlier.
   */
  timeOf(key: Hold["apiKeyId"], now: number): number {
    return Math.max(now, this.byKey.get(key)?.since ?? now)
  }

  /** Returns the error if a hold does not fit into the budget of its key. */
  refusalOf({ amount, apiKeyId }: Counted, heldAt: number): Budget.BudgetExceeded | undefined {
    const budget = this.byKey.get(apiKeyId)
    if (budget === undefined) return undefined
    const use = this.useAt(budget, heldAt)
    if (use.charged + use.held + amount <= budget.credits) return undefined
    return new Budget.BudgetExceeded({
      required: amount,
      budget,
      use,
      isHeld: use.charged + amount <= budget.credits,
      resetsAt: Budget.endOf(budget.period, heldAt),
    })
  }

  open({ amount, apiKeyId }: Counted, heldAt: number) {
    this.add(apiKeyId, heldAt, 0, amount, 1)
  }

  /** Counts the end of an open hold together with its charge. */
  end({ amount, apiKeyId }: Counted, heldAt: number | null, charge: number) {
    this.add(apiKeyId, heldAt, charge, -amount, -1)
  }

  private add(
    key: Hold["apiKeyId"],
    at: number | null,
    charged: number,
    held: number,
    holds: number,
  ) {
    const budget = this.byKey.get(key)
    if (budget === undefined || at === null || at < budget.since) return
    const use = this.useAt(budget, at)
    const changed = {
      ...use,
      charged: creditsOf(use.charged + charged),
      held: creditsOf(use.held + held),
      holds: use.holds + holds,
    }
    this.uses.set(idOf(use), changed)
    this.changed.set(idOf(use), changed)
  }

  private useAt({ budgetId, period, since }: InForce, at: number): UseIn {
    // A budget's first period starts when the budget is set.
    const place = { budgetId, start: Math.max(since, Budget.startOf(period, at)) }
    return this.uses.get(idOf(place)) ?? { ...place, ...Budget.unused }
  }
}

const idOf = ({ budgetId, start }: Pick<UseIn, "budgetId" | "start">) => `${budgetId} ${start}`
