/**
 * The port to the cost of calls to vendors: sums by provider and UTC day. Calls are added when they
 * have ended, so those of a killed process may be missing.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { endOf, startOf } from "../../ledger/budgets/Budget.ts"

export interface Sum {
  readonly calls: number
  /** The rows that the vendor billed, according to its answers. */
  readonly rows: number
  /** In millionths of the vendor's currency; null if the cost of every call is unknown. */
  readonly cost: number | null
  /** The calls that failed and certainly cost nothing. */
  readonly failed: number
  /** The calls without an answer, which the vendor may have billed. */
  readonly unanswered: number
}

/** The cost of the calls to a provider on a day. A call belongs to the day on which it began. */
export interface Cost extends Sum {
  readonly provider: string
  /** The number of the UTC day, counted from 1970-01-01. */
  readonly day: number
}

/** A range in epoch milliseconds, without `until` itself. Days are returned as a whole. */
export interface Range {
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** Every method may die with StoreFailure. */
export class Costs extends Context.Tag("authority/Costs")<
  Costs,
  {
    /** Adds to the sums. If the database's answer is lost, they may or may not have been added. */
    readonly add: (costs: NonEmptyReadonlyArray<Cost>) => Effect.Effect<void>
    /** Returns the sums, oldest first and then by provider. */
    readonly days: (range: Range) => Effect.Effect<ReadonlyArray<Cost>>
  }
>() {}

export const nothing: Sum = { calls: 0, rows: 0, cost: null, failed: 0, unanswered: 0 }

const plus = <A extends Sum>(a: A, b: Sum): A => ({
  ...a,
  calls: a.calls + b.calls,
  rows: a.rows + b.rows,
  cost: a.cost === null ? b.cost : a.cost + (b.cost ?? 0),
  failed: a.failed + b.failed,
  unanswered: a.unanswered + b.unanswered,
})

export const summed = (costs: Iterable<Cost>): ReadonlyArray<Cost> => {
  const sums = new Map<string, Cost>()
  for (const cost of costs) {
    const key = `${cost.day} ${cost.provider}`
    const sum = sums.get(key)
    sums.set(key, sum === undefined ? cost : plus(sum, cost))
  }
  return [...sums.values()]
}

export const monthOf = ({ days }: Pick<Costs["Type"], "days">, provider: string) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const all = yield* days({ since: startOf("month", now), until: endOf("month", now) ?? now })
    return all.filter((cost) => cost.provider === provider).reduce(plus<Sum>, nothing)
  })
