/**
 * Reports what was bought of the vendors beside what was sold of it, and compares the purchases with
 * the vendors' own counts.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { CreditLedger } from "./CreditLedger.ts"
import * as Usage from "./ledger/Usage.ts"
import {
  type ProviderError,
  type ProviderStatus,
  type Quota,
  statusInTime,
} from "./MetricsProvider.ts"
import { type PurchaseDay, Purchases } from "./Purchases.ts"
import * as Rule from "./Reconciliation.ts"
import { inTime, type StoreTimeout } from "./StoreTimeout.ts"

/** A row of the report, by the names that its JSON has. */
export interface Row {
  /**
   * Null in the row of a day for what belongs to no single vendor. Such a row has only the last two
   * numbers, and the rows of the vendors on that day have null there.
   */
  readonly provider: string | null
  /** A UTC day such as 2026-11-24. */
  readonly day: string
  readonly calls: number | null
  readonly targets: number | null
  readonly rowsBought: number | null
  /** In the vendor's currency; null when the price is not known. */
  readonly cost: number | null
  /** The calls without an answer: the vendor may have billed them. */
  readonly unknown: number | null
  /** The successful checks that cost the operator nothing. */
  readonly answeredFromCache: number | null
  readonly creditsCharged: number | null
}

/** A comparison with a vendor's count, in its unit: `rows`, or the vendor's currency. */
export interface Reconciliation extends Omit<Rule.Comparison, "since" | "until"> {
  /** ISO 8601 times. */
  readonly since: string
  readonly until: string
}

/** What came of reading a vendor's count. */
export interface Reading {
  readonly provider: string
  readonly state: "compared" | "first" | "renewed" | "uncounted" | "failed"
  /** Only when the state is `compared`. */
  readonly reconciliation: Reconciliation | null
  /** Why there is no comparison; null when there is one. */
  readonly reason: string | null
}

/** A vendor, and how to ask it for its count. */
export interface Vendor {
  readonly provider: string
  readonly status?: Effect.Effect<ProviderStatus, ProviderError> | undefined
}

export interface Question {
  /** Epoch milliseconds, `since` inclusive and `until` exclusive. Days are reported as a whole. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** The maximum number of rows and of comparisons: the newest ones. Absent: no maximum. */
  readonly limit?: number | undefined
}

export interface Report {
  /** Oldest first. */
  readonly rows: ReadonlyArray<Row>
  /** Each reading compared with the one before, oldest first. */
  readonly reconciliations: ReadonlyArray<Reconciliation>
}

/** Every method may die with StoreFailure. */
export class ProviderReport extends Context.Tag("authority/ProviderReport")<
  ProviderReport,
  {
    /** Fails with StoreTimeout at the Deadline. */
    readonly report: (question: Question) => Effect.Effect<Report, StoreTimeout>
    /**
     * Asks the vendors for their counts, stores these, and compares them with the former ones. Fails
     * with StoreTimeout at the Deadline, before it asks a vendor.
     */
    readonly reconcile: (
      vendors: ReadonlyArray<Vendor>,
      options?: { readonly isDaily: boolean },
    ) => Effect.Effect<ReadonlyArray<Reading>, StoreTimeout>
    /** Returns the vendors without a reading on this UTC day. */
    readonly unread: (vendors: ReadonlyArray<Vendor>) => Effect.Effect<ReadonlyArray<Vendor>>
  }
>() {}

/** The timeout of one call to a vendor. */
export class CallTimeout extends Context.Reference<CallTimeout>()(
  "authority/ProviderReport/CallTimeout",
  { defaultValue: (): Duration.Duration => Duration.seconds(10) },
) {}

export const layer: Layer.Layer<ProviderReport, never, CreditLedger | Purchases> = Layer.effect(
  ProviderReport,
  Effect.gen(function* () {
    const { usage } = yield* CreditLedger
    const { addReading, days, readings, totals } = yield* Purchases
    const inFlightMs = Math.ceil(Duration.toMillis(yield* CallTimeout)) + lateMs

    const report = Effect.fn("ProviderReport.report")(function* ({ limit, ...range }: Question) {
      const bought = yield* days(range)
      const sold = yield* usage?.({ by: "day", ...range }) ?? Effect.succeed(undefined)
      const [first, last] = Usage.daysOf(range)
      const found = yield* readings({ limit: maxReadings })
      const reconciliations = Rule.comparisons(found.toReversed())
        .filter(({ until }) => first <= Usage.dayOf(until) && Usage.dayOf(until) <= last)
        .map(reconciliationOf)
      const rows = rowsOf(bought, sold)
      return limit === undefined
        ? { rows, reconciliations }
        : { rows: rows.slice(-limit), reconciliations: reconciliations.slice(-limit) }
    })

    const read = Effect.fnUntraced(function* (vendor: Vendor, isDaily: boolean) {
      const { provider } = vendor
      const since = (yield* Clock.currentTimeMillis) - inFlightMs
      const before = yield* inTime(totals(provider, since))
      const said = yield* Effect.either(statusInTime(vendor))
      if (Either.isLeft(said)) return without(provider, "failed", said.left.message)
      const { quota } = said.right
      if (quota === undefined || !isComparable(quota)) {
        return without(provider, "uncounted", reasons.uncounted)
      }
      const after = yield* totals(provider, since)
      const count = { at: yield* Clock.currentTimeMillis, ...countOf(quota) }
      const reading = Rule.readingOf(count, before, after)
      const [former] = yield* readings({ provider, limit: 1 })
      yield* addReading(reading, { isDaily })
      if (former === undefined) return without(provider, "first", reasons.first)
      const comparison = Rule.compare(former, reading)
      if (comparison === undefined) return without(provider, "renewed", reasons.renewed)
      const reconciliation = reconciliationOf(comparison)
      return { provider, state: "compared" as const, reconciliation, reason: null }
    })

    return ProviderReport.of({
      report: (question) => inTime(report(question)),
      reconcile: (vendors, { isDaily } = { isDaily: false }) =>
        Effect.forEach(vendors, (vendor) => read(vendor, isDaily), { concurrency: "unbounded" }),
      unread: Effect.fn("ProviderReport.unread")(function* (vendors) {
        const today = Usage.dayOf(yield* Clock.currentTimeMillis)
        return yield* Effect.filter(vendors, ({ provider }) =>
          Effect.map(
            readings({ provider, limit: 1 }),
            ([last]) => last === undefined || Usage.dayOf(last.at) < today,
          ),
        )
      }),
    })
  }),
)

/** A vendor may bill a call so long after its timeout, in milliseconds. */
const lateMs = 30_000

/** The newest readings that a report looks at: those of a year and more. */
const maxReadings = 2000

const reasons = {
  uncounted: "the vendor reports neither rows nor money, so calls without an answer count as spent",
  first: "this is the first reading; the next one is compared with it",
  renewed: "the vendor's period was renewed since the last reading",
}

const without = (provider: string, state: Reading["state"], reason: string): Reading => ({
  provider,
  state,
  reconciliation: null,
  reason,
})

/** True when the unit is that of the purchases: rows, or the cost in a currency such as USD. */
const isComparable = ({ unit }: Quota) => unit === "rows" || /^[A-Z]{3}$/.test(unit)

const million = 1_000_000

const countOf = ({ allotted, left, resetsAt, unit }: Quota) => ({
  unit,
  used: Math.round((allotted - left) * (unit === "rows" ? 1 : million)),
  resetsAt,
})

const reconciliationOf = ({ since, until, ...comparison }: Rule.Comparison): Reconciliation => {
  const { computed, difference, provider, reported, unit, unknown } = comparison
  const shown = (amount: number) => (unit === "rows" ? amount : amount / million)
  return {
    provider,
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    unit,
    reported: shown(reported),
    computed: shown(computed),
    unknown: shown(unknown),
    difference: shown(difference),
  }
}

/**
 * Puts what was sold on a day into the row of its only vendor, or into a row of its own. `sold` is
 * undefined when the ledger counts no usage.
 */
const rowsOf = (
  bought: ReadonlyArray<PurchaseDay>,
  sold: ReadonlyArray<Usage.Row> | undefined,
): ReadonlyArray<Row> => {
  const soldOn = new Map(sold?.map((usage) => [usage.day, usage]))
  const vendorsOn = new Map<number, ReadonlyArray<PurchaseDay>>()
  for (const one of bought) vendorsOn.set(one.day, [...(vendorsOn.get(one.day) ?? []), one])
  const days = new Set([...vendorsOn.keys(), ...(sold ?? []).flatMap(({ day }) => day ?? [])])
  return [...days]
    .sort((a, b) => a - b)
    .flatMap((day): ReadonlyArray<Row> => {
      const vendors = vendorsOn.get(day) ?? []
      if (sold === undefined) return vendors.map(rowOf)
      const { credits: creditsCharged = 0, known: answeredFromCache = 0 } = soldOn.get(day) ?? {}
      const sale = { answeredFromCache, creditsCharged }
      const [only, ...others] = vendors
      return only !== undefined && others.length === 0
        ? [{ ...rowOf(only), ...sale }]
        : [...vendors.map(rowOf), { ...unbought, day: Usage.dateOf(day), ...sale }]
    })
}

const unsold = { answeredFromCache: null, creditsCharged: null }

const unbought = {
  provider: null,
  calls: null,
  targets: null,
  rowsBought: null,
  cost: null,
  unknown: null,
}

const rowOf = ({ calls, cost, day, provider, rows, targets, unknownCalls }: PurchaseDay): Row => ({
  provider,
  day: Usage.dateOf(day),
  calls,
  targets,
  rowsBought: rows,
  cost: cost === null ? null : cost / million,
  unknown: unknownCalls,
  ...unsold,
})
