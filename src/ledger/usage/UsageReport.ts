/** Reports the usage of requests with the names of accounts and keys, from the ledger's sums. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Accounts } from "../../accounts/Account.ts"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import { CreditLedger } from "../CreditLedger.ts"
import * as Usage from "./Usage.ts"
import type { FailureCounts } from "../../check/Metrics.ts"
import { inTime, type StoreTimeout } from "../StoreTimeout.ts"

/** A row of the report, with the field names of its JSON. */
export interface Row {
  /** The account's name, in rows by account and in rows by key over all accounts. */
  readonly account?: string
  /** A UTC day such as 2026-11-24, in rows by day. */
  readonly day?: string
  /** In rows by key; null for requests that named no key. */
  readonly key?: { readonly id: string; readonly label: string | null } | null
  /** The number of successful checks, whether answered from the cache or bought. */
  readonly checks: number
  readonly credits: number
  readonly known: number
  readonly bought: number
  readonly failed: FailureCounts
}

export class UsageReport extends Context.Tag("authority/UsageReport")<
  UsageReport,
  {
    /**
     * Returns rows by day in the order of the days, and other rows by credits, most first. Fails
     * with StoreTimeout at the Deadline. May die with StoreFailure.
     */
    readonly rows: (question: Usage.Question) => Effect.Effect<ReadonlyArray<Row>, StoreTimeout>
  }
>() {}

export const layer: Layer.Layer<UsageReport, never, Accounts | ApiKeys | CreditLedger> =
  Layer.effect(
    UsageReport,
    Effect.gen(function* () {
      const [accounts, keys, ledger] = yield* Effect.all([Accounts, ApiKeys, CreditLedger])

      /** Finds names that a ledger outside of the database does not know. */
      const named = Effect.fnUntraced(function* (row: Usage.Row) {
        const { accountId, accountName, apiKeyId } = row
        if (accountId === null || accountName !== undefined) return row
        const account = yield* Effect.option(accounts.find(accountId))
        const key = apiKeyId === null ? Option.none() : yield* Effect.option(keys.find(apiKeyId))
        return {
          ...row,
          accountName: Option.match(account, { onNone: () => null, onSome: ({ name }) => name }),
          label: Option.match(key, { onNone: () => null, onSome: ({ label }) => label }),
        }
      })

      const rows = Effect.fn("UsageReport.rows")(function* (question: Usage.Question) {
        const sums = yield* Effect.forEach(yield* ledger.usage(question), named)
        const needsNames = question.account === undefined && question.by !== "day"
        return sums.map(({ accountId, apiKeyId, day, failed, known, ...sum }): Row => ({
          ...(needsNames && accountId !== null && { account: sum.accountName ?? accountId }),
          ...(day !== null && { day: Usage.dateOf(day) }),
          ...(question.by === "key" && {
            key: apiKeyId === null ? null : { id: apiKeyId, label: sum.label ?? null },
          }),
          checks: sum.checks,
          credits: sum.credits,
          known,
          bought: sum.checks - known,
          failed,
        }))
      })

      return UsageReport.of({
        rows: (question) => inTime(rows(question)),
      })
    }),
  )
