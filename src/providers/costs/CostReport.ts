/** Compares what calls to vendors cost with what was sold and with the vendors' own counts. */
import * as Effect from "effect/Effect"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import * as Usage from "../../ledger/usage/Usage.ts"
import { type Circuit, quotaDocumentOf, statusInTime } from "../MetricsProvider.ts"
import { Costs, monthOf, type Range, type Sum } from "./Costs.ts"
import { inTime } from "../../ledger/StoreTimeout.ts"

/** A row of the report, with the field names of its JSON. */
export type Row = Bought | Sold

/** What the calls to a vendor on a day cost. `cost` is in the vendor's currency. */
export interface Bought extends Sum {
  readonly provider: string
  readonly day: string
}

/** What was sold on a day. The vendor from which it was bought is not known. */
export interface Sold {
  readonly provider: null
  readonly day: string
  /** The successful checks that cost the operator nothing. */
  readonly answeredFromCache: number
  readonly creditsCharged: number
}

/** The vendor's own count beside ours. */
export interface Count {
  readonly provider: string
  /** The cost of the calls in this UTC month. `cost` is in the vendor's currency. */
  readonly month: Sum
  /** The vendor's current quota; null if it reports none. */
  readonly quota: ReturnType<typeof quotaDocumentOf>
  /** Why the vendor did not answer; null when it did. */
  readonly error: string | null
}

export interface Question extends Range {
  /** The maximum number of rows, of which the newest are kept. Absent: no maximum. */
  readonly limit?: number | undefined
}

export interface Report {
  /** Oldest first. The last row of a day is what was sold on it. */
  readonly rows: ReadonlyArray<Row>
  /** The counts of the vendors that were to be asked; absent if none were. */
  readonly counts?: ReadonlyArray<Count>
}

/**
 * Asks the vendors for their counts, free of charge. Fails with StoreTimeout at the Deadline, before
 * it asks a vendor. May die with StoreFailure.
 */
export const report = Effect.fn("CostReport.report")(function* (
  question: Question,
  vendors?: ReadonlyArray<Pick<Circuit, "provider" | "status">>,
) {
  const rows = yield* inTime(rowsOf(question))
  const report: Report =
    vendors === undefined
      ? { rows }
      : { rows, counts: yield* Effect.forEach(vendors, count, { concurrency: "unbounded" }) }
  return report
})

const rowsOf = Effect.fnUntraced(function* ({ limit, ...range }: Question) {
  const costs = yield* Costs
  const { usage } = yield* CreditLedger
  const bought = (yield* costs.days(range)).map(boughtOf)
  const sold = (yield* usage({ by: "day", ...range })).flatMap(soldOf)
  const all = [...bought, ...sold].sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0))
  return limit === undefined ? all : all.slice(-limit)
})

const count = Effect.fnUntraced(function* (vendor: Pick<Circuit, "provider" | "status">) {
  const { provider } = vendor
  const month = shown(yield* inTime(monthOf(yield* Costs, provider)))
  return yield* Effect.match(statusInTime(vendor), {
    onFailure: ({ message }): Count => ({ provider, month, quota: null, error: message }),
    onSuccess: ({ quota }) => ({ provider, month, quota: quotaDocumentOf(quota), error: null }),
  })
})

const shown = ({ calls, cost, failed, rows, unanswered }: Sum): Sum => ({
  calls,
  rows,
  cost: cost === null ? null : cost / 1_000_000,
  failed,
  unanswered,
})

const boughtOf = ({ day, provider, ...sum }: Sum & { provider: string; day: number }): Row => ({
  provider,
  day: Usage.dateOf(day),
  ...shown(sum),
})

const soldOf = ({ credits, day, known }: Usage.Row): ReadonlyArray<Row> =>
  day === null
    ? []
    : [
        {
          provider: null,
          day: Usage.dateOf(day),
          answeredFromCache: known,
          creditsCharged: credits,
        },
      ]
