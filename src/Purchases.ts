/**
 * The port to the purchases: a row for each call to a vendor, and what the call cost. The row is
 * there before the call is sent. So a call without an answer, or of a process that died, stays
 * `unknown`: the vendor may have billed it.
 *
 * Money is in millionths of the vendor's currency. Times are epoch milliseconds. Months and days are
 * those of UTC. Every method may die with StoreFailure.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dayMs, endOf, startOf } from "./ledger/Budget.ts"
import { dayOf } from "./ledger/Usage.ts"
import type { Reading, Totals } from "./Reconciliation.ts"

/** A call that is to be sent. */
export interface PurchaseRequest {
  readonly provider: string
  /** The number of targets, 1 or more. */
  readonly targets: number
  /** Maximum number of rows a month. Absent: no maximum. */
  readonly ceiling?: number | undefined
}

/** A call that may be sent now. */
export interface Purchase {
  readonly id: string
  readonly provider: string
  readonly at: number
  /** How many targets may be sent: fewer than requested when the ceiling leaves less room. */
  readonly targets: number
  /** Rows that the ceiling leaves after this call; undefined without a ceiling. */
  readonly rowsLeft: number | undefined
}

/** What a call cost. */
export interface Cost {
  /** `failed`: the vendor surely did not answer the targets, so the rows are usually 0. */
  readonly state: "answered" | "failed"
  readonly rows: number
  /** Null when the price is not known. */
  readonly cost: number | null
  /** True when the vendor reported the cost, false when it was computed from the price. */
  readonly isReported: boolean
}

/** The ceiling of the month leaves no room for a row. Nothing may be sent. */
export class CeilingReached extends Data.TaggedError("CeilingReached")<{
  readonly ceiling: number
  /** True when calls that are in flight or unknown stand in the way: there may be room before `endsAt`. */
  readonly mayChange: boolean
  /** The end of the month. */
  readonly endsAt: number
}> {}

/** The vendor asked for a pause, which has not ended. Nothing may be sent. */
export class VendorPaused extends Data.TaggedError("VendorPaused")<{ readonly until: number }> {}

/** The sums of one provider and one UTC day. A call belongs to the day on which it was opened. */
export interface PurchaseDay {
  readonly provider: string
  /** The number of the day, counted from 1970-01-01. */
  readonly day: number
  readonly calls: number
  readonly targets: number
  /** The rows that the vendor billed for closed calls. */
  readonly rows: number
  /** Null when no closed call of the day has a cost. */
  readonly cost: number | null
  /** The calls without an answer so far, those in flight included. */
  readonly unknownCalls: number
  readonly unknownTargets: number
}

const nothing = { calls: 0, targets: 0, rows: 0, cost: null, unknownCalls: 0, unknownTargets: 0 }

/** How a call without an answer changes its day. */
export const opening = ({ at, provider, targets }: Purchase): PurchaseDay => ({
  ...nothing,
  provider,
  day: dayOf(at),
  calls: 1,
  targets,
  unknownCalls: 1,
  unknownTargets: targets,
})

/** How the end of a call changes the day on which it was opened. */
export const closing = (
  { at, provider, targets }: Pick<Purchase, "at" | "provider" | "targets">,
  { cost, rows }: Pick<Cost, "cost" | "rows">,
): PurchaseDay => ({
  ...nothing,
  provider,
  day: dayOf(at),
  rows,
  cost,
  unknownCalls: -1,
  unknownTargets: -targets,
})

/** Adds up the changes of each day. */
export const sumsOf = (changes: Iterable<PurchaseDay>): ReadonlyArray<PurchaseDay> => {
  const days = new Map<string, PurchaseDay>()
  for (const one of changes) {
    const key = `${one.day} ${one.provider}`
    const sum = days.get(key)
    days.set(key, sum === undefined ? one : added(sum, one))
  }
  return [...days.values()]
}

const added = (sum: PurchaseDay, one: PurchaseDay): PurchaseDay => ({
  ...sum,
  calls: sum.calls + one.calls,
  targets: sum.targets + one.targets,
  rows: sum.rows + one.rows,
  cost: one.cost === null ? sum.cost : (sum.cost ?? 0) + one.cost,
  unknownCalls: sum.unknownCalls + one.unknownCalls,
  unknownTargets: sum.unknownTargets + one.unknownTargets,
})

export class Purchases extends Context.Tag("authority/Purchases")<
  Purchases,
  {
    /**
     * Records a call before it is sent. The record is durable when this returns. Dies with
     * StoreFailure when the store does not answer within five seconds; nothing may be sent then.
     */
    readonly open: (
      request: PurchaseRequest,
    ) => Effect.Effect<Purchase, CeilingReached | VendorPaused>
    /**
     * Records what the call cost. Returns at once, and does not fail: when the store fails, the
     * call stays `unknown`. Only the first close of a call counts.
     */
    readonly close: (purchase: Purchase, cost: Cost) => Effect.Effect<void>
    /** Makes all processes pause calls to the vendor until `until`. Returns at once, like `close`. */
    readonly pause: (provider: string, until: number) => Effect.Effect<void>
    /**
     * Returns the sums of the days that the range touches, newest first and then by provider.
     * `since` is inclusive, `until` exclusive.
     */
    readonly days: (range: {
      readonly since?: number | undefined
      readonly until?: number | undefined
    }) => Effect.Effect<ReadonlyArray<PurchaseDay>>
    /**
     * Returns the sums of all purchases of a provider, at one moment. Calls without an answer that
     * were opened after `inFlightSince` count as in flight.
     */
    readonly totals: (provider: string, inFlightSince: number) => Effect.Effect<Totals>
    /**
     * Stores what a vendor counts as used. A `daily` reading is dropped when its UTC day has one
     * already.
     */
    readonly addReading: (
      reading: Reading,
      options: { readonly isDaily: boolean },
    ) => Effect.Effect<void>
    /** Returns the newest readings, newest first. */
    readonly readings: (of: {
      readonly provider?: string | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Reading>>
    /** Deletes the rows of calls opened at or before `until`. The sums of their days stay. */
    readonly sweep: (until: number) => Effect.Effect<void>
  }
>() {}

/** How long `open` waits for the store, in milliseconds. */
export const openTimeoutMs = 5000

/** A vendor's pause is at most this long, in milliseconds. A later end means a wrong clock. */
export const longestPauseMs = 3_600_000

/** The first and the last UTC day of the month that contains `now`, counted from 1970-01-01. */
export const daysOfMonth = (now: number): readonly [first: number, last: number] => [
  startOf("month", now) / dayMs,
  monthEnd(now) / dayMs - 1,
]

const monthEnd = (now: number) => endOf("month", now) ?? now

/** The rows of a month so far. Unknown calls count with all their targets. */
export interface MonthRows {
  readonly rows: number
  readonly unknownTargets: number
}

/** What the stores know of a vendor when a call is opened. */
export interface VendorState {
  readonly month: MonthRows
  /** The end of the vendor's last pause. */
  readonly pausedUntil: number
}

/** Decides whether a call may be sent now, and with how many targets. */
export const purchaseOf = (
  { ceiling, provider, targets }: PurchaseRequest,
  { month, pausedUntil }: VendorState,
  id: string,
  now: number,
): Either.Either<Purchase, CeilingReached | VendorPaused> => {
  if (pausedUntil > now && pausedUntil <= now + longestPauseMs) {
    return Either.left(new VendorPaused({ until: pausedUntil }))
  }
  const purchase = { id, provider, at: now }
  if (ceiling === undefined) return Either.right({ ...purchase, targets, rowsLeft: undefined })
  const room = ceiling - month.rows - month.unknownTargets
  const some = Math.min(targets, room)
  return some > 0
    ? Either.right({ ...purchase, targets: some, rowsLeft: room - some })
    : Either.left(
        new CeilingReached({ ceiling, mayChange: month.rows < ceiling, endsAt: monthEnd(now) }),
      )
}
