/** Reports what requests used, with the names of accounts and keys. Reads only the ledger's sums. */
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

/** A row of the report, by the names that its JSON has. */
export interface Row {
  /** Of rows by account, and of rows by key over all accounts: the name of the account. */
  readonly account?: string
  /** Of rows by day: a UTC day such as 2026-11-24. */
  readonly day?: string
  /** Of rows by key; null for requests that named no key. */
  readonly key?: { readonly id: string; readonly label: string | null } | null
  /** Successful checks: those answered from the cache, and those bought. */
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
     * Rows by day are ordered by day, others by credits, most first. Fails with StoreTimeout at the
     * Deadline. May die with StoreFailure.
     */
    readonly rows: (question: Usage.Question) => Effect.Effect<ReadonlyArray<Row>, StoreTimeout>
  }
>() {}

export const layer: Layer.Layer<UsageReport, never, Accounts | ApiKeys | CreditLedger> =
  Layer.effect(
    UsageReport,
    Effect.gen(function* () {
      const [accounts, keys, ledger] = yield* Effect.all([Accounts, ApiKeys, CreditLedger])

      /** Finds the names that a ledger outside of the database leaves out. */
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
