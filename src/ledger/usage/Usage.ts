/** Counts the usage of requests by account, API key and UTC day. */
import * as Arr from "effect/Array"
import * as Order from "effect/Order"
import type { AccountId } from "../../accounts/Account.ts"
import type { ApiKeyId } from "../../accounts/ApiKey.ts"
import { type FailureCounts, noFailures } from "../../check/Metrics.ts"
import { dayMs } from "../budgets/Budget.ts"
import type { Charge, Hold } from "../Hold.ts"

/** The usage of requests. Only requests that held credits are counted. */
export interface Usage {
  /** The number of successful checks. */
  readonly checks: number
  readonly credits: number
  /** How many of these checks were answered from the cache; the others were bought. */
  readonly known: number
  readonly failed: FailureCounts
}

/** A question for the usage in a period, summed by day, API key or account. */
export interface Question {
  readonly by: "day" | "key" | "account"
  /** The usage of all accounts when absent. */
  readonly account?: AccountId | undefined
  /** In epoch milliseconds; `since` is inclusive, `until` exclusive. Days count as a whole. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** The maximum number of rows; no maximum when absent. */
  readonly limit?: number | undefined
}

export interface Row extends Usage {
  /** The account of rows by account or by key; null in rows by day. */
  readonly accountId: AccountId | null
  /** The key of rows by key; null in other rows and for requests that named no key. */
  readonly apiKeyId: ApiKeyId | null
  /** The number of days since 1970-01-01 (UTC); null except in rows by day. */
  readonly day: number | null
  /** The account's name and the key's label, if the ledger knows them. */
  readonly accountName?: string | null
  readonly label?: string | null
}

export interface DailyUsage extends Row {
  readonly accountId: AccountId
  readonly day: number
}

/** The UTC day of a time in epoch milliseconds. */
export const dayOf = (time: number) => Math.floor(time / dayMs)

/** Writes a day as 2026-11-24. */
export const dateOf = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10)

/** Returns the first and the last day that the period touches. */
export const daysOf = ({
  since = 0,
  until = Number.MAX_SAFE_INTEGER,
}: Pick<Question, "since" | "until">) => [dayOf(since), dayOf(until - 1)] as const

/** The usage of a request that is charged at `now`, in epoch milliseconds. */
export const ofCharge = (
  { accountId, apiKeyId }: Hold,
  { amount, failed = noFailures, known = 0, urls }: Charge,
  now: number,
): DailyUsage => ({
  accountId,
  apiKeyId: apiKeyId ?? null,
  day: dayOf(now),
  checks: urls,
  credits: amount,
  known,
  failed,
})

/** Adds usage to a sum, which keeps its account, key and day. */
export const add = <A extends Usage>(sum: A, usage: Usage): A => ({
  ...sum,
  checks: sum.checks + usage.checks,
  credits: sum.credits + usage.credits,
  known: sum.known + usage.known,
  failed: {
    INVALID_URL: sum.failed.INVALID_URL + usage.failed.INVALID_URL,
    PROVIDER_ERROR: sum.failed.PROVIDER_ERROR + usage.failed.PROVIDER_ERROR,
    SERVER_ERROR: sum.failed.SERVER_ERROR + usage.failed.SERVER_ERROR,
  },
})

/** Adds up the rows of each day, key or account, orders the sums, and keeps the first of them. */
export const merge = (
  rows: ReadonlyArray<Row>,
  { by, limit = Number.POSITIVE_INFINITY }: Pick<Question, "by" | "limit">,
): ReadonlyArray<Row> => {
  const sums = new Map<string, Row>()
  for (const row of rows) {
    const id = `${row.accountId} ${row.apiKeyId} ${row.day}`
    const sum = sums.get(id)
    sums.set(id, sum === undefined ? row : add(sum, row))
  }
  const all = Arr.sort(sums.values(), by === "day" ? byDay : byCredits)
  return by === "day" ? all.slice(-limit) : all.slice(0, limit)
}

const byDay = Order.mapInput(Order.number, ({ day }: Row) => day ?? 0)

const byCredits = Order.combineAll<Row>([
  Order.reverse(Order.mapInput(Order.number, ({ credits }) => credits)),
  Order.mapInput(Order.string, ({ accountId }) => accountId ?? ""),
  Order.mapInput(Order.string, ({ apiKeyId }) => apiKeyId ?? ""),
])
