/** What the operator's first page shows: sales and costs by day, customers, vendors and errors. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { AdminApi } from "../../contract/AdminApi.ts"
import { maxRows } from "../../contract/Limits.ts"
import * as Balance from "../../ledger/Balance.ts"
import { dayMs } from "../../ledger/budgets/Budget.ts"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import { creditsOf } from "../../ledger/Credits.ts"
import { inTime } from "../../ledger/StoreTimeout.ts"
import * as Usage from "../../ledger/usage/Usage.ts"
import { MetricsProvider } from "../../providers/MetricsProvider.ts"
import * as CostReport from "../../providers/costs/CostReport.ts"
import { letOthersRun } from "../../ledger/letOthersRun.ts"
import { answer, circuitOf, errorsOf } from "./handlers.ts"

export interface Options {
  readonly currency: string
  /** What a customer pays for one credit, in millionths of the currency. */
  readonly creditValue: number | undefined
  /** The most rows that may be bought from a vendor in a month. */
  readonly ceilingOf: (provider: string) => number | undefined
}

const days = 30
const lastWeek = 7
const maxRunningOut = 10
const maxErrors = 10

/** Adds up. The cost is null when calls were made and the price of none of them is known. */
const sumOf = (rows: ReadonlyArray<CostReport.Row>) => {
  const sold = rows.filter((row) => row.provider === null)
  const bought = rows.filter((row) => row.provider !== null)
  const known = bought.flatMap(({ cost }) => cost ?? [])
  return {
    creditsCharged: sold.reduce((sum, { creditsCharged }) => sum + creditsCharged, 0),
    cost:
      known.length === 0 && bought.length > 0 ? null : known.reduce((sum, cost) => sum + cost, 0),
    answeredFromCache: sold.reduce((sum, row) => sum + row.answeredFromCache, 0),
  }
}

export const layer = ({ ceilingOf, creditValue, currency }: Options) =>
  HttpApiBuilder.group(AdminApi, "overview", (handlers) =>
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const { circuits } = yield* MetricsProvider

      const runningOutOn = (today: number) =>
        Effect.gen(function* () {
          const since = (today - lastWeek + 1) * dayMs
          const used = yield* ledger.usage({ by: "account", since, limit: maxRows })
          const rows = yield* Effect.forEach(used, ({ accountId, accountName, credits }) =>
            accountId === null || credits === 0
              ? Effect.succeed([])
              : Effect.map(Effect.zipRight(letOthersRun, ledger.balance(accountId)), (balance) => [
                  {
                    account: accountName ?? accountId,
                    available: creditsOf(Balance.available(balance)),
                    chargedLastWeek: credits,
                  },
                ]),
          )
          return rows
            .flat()
            .filter(({ available, chargedLastWeek }) => available < chargedLastWeek)
            .sort((a, b) => a.available / a.chargedLastWeek - b.available / b.chargedLastWeek)
            .slice(0, maxRunningOut)
        })

      return handlers.handle("overview", () =>
        Effect.gen(function* () {
          const today = Usage.dayOf(yield* Clock.currentTimeMillis)
          const runningOut = yield* inTime(runningOutOn(today))
          const vendors = yield* circuits
          const since = (today - days + 1) * dayMs
          const { counts = [], rows } = yield* CostReport.report({ since }, vendors)
          return {
            currency,
            creditValue: creditValue === undefined ? null : creditValue / 1_000_000,
            days: Array.from({ length: days }, (_, i) => {
              const day = Usage.dateOf(today - days + 1 + i)
              return { day, ...sumOf(rows.filter((row) => row.day === day)) }
            }),
            sums: sumOf(rows),
            runningOut,
            vendors: vendors.flatMap((vendor, i) =>
              counts.slice(i, i + 1).map((count) => ({
                ...count,
                ...circuitOf(vendor),
                ceiling: ceilingOf(vendor.provider) ?? null,
              })),
            ),
            errors: vendors
              .flatMap((vendor) =>
                errorsOf(vendor).map((error) => ({ provider: vendor.provider, ...error })),
              )
              .sort((a, b) => (a.at < b.at ? 1 : -1))
              .slice(0, maxErrors),
          }
        }).pipe(answer),
      )
    }),
  )
