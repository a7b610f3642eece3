/** Compares what a vendor counts as used with the purchases, between two readings of its count. */

/** The sums of all purchases of a provider. */
export interface Totals {
  readonly provider: string
  /** The closed calls, their rows, and their cost in millionths of the vendor's currency. */
  readonly calls: number
  readonly rows: number
  readonly cost: number
  /** The calls without an answer that are not in flight any more. */
  readonly unknownCalls: number
  readonly unknownTargets: number
  /** The calls that may be in flight. */
  readonly inFlightCalls: number
  readonly inFlightTargets: number
}

/** The vendor's own count at one time, beside the sums of the purchases. */
export interface Reading extends Totals {
  /** Epoch milliseconds. */
  readonly at: number
  /** `rows`, or the vendor's currency. */
  readonly unit: string
  /** What the vendor counts as used: rows, or millionths of its currency. */
  readonly used: number
  /** When the vendor's period ends, in epoch milliseconds; null when it does not say. */
  readonly resetsAt: number | null
}

/** What happened between two readings: in rows, or in millionths of the vendor's currency. */
export interface Comparison {
  readonly provider: string
  /** The times of the readings, in epoch milliseconds. */
  readonly since: number
  readonly until: number
  readonly unit: string
  /** By how much the vendor's count rose. */
  readonly reported: number
  /** What the closed calls cost. */
  readonly computed: number
  /** The most that the calls without an answer cost, those in flight at the end included. */
  readonly unknown: number
  /** What the purchases do not explain of `reported`; negative when the vendor counts too little. */
  readonly difference: number
}

/** Adds the vendor's count to the sums that were read before and after it. */
export const readingOf = (
  count: Pick<Reading, "at" | "unit" | "used" | "resetsAt">,
  before: Totals,
  after: Totals,
): Reading => ({
  ...count,
  ...after,
  calls: before.calls,
  rows: before.rows,
  cost: before.cost,
  // The vendor may or may not have counted the calls that were closed meanwhile.
  inFlightCalls: after.inFlightCalls + after.calls - before.calls,
  inFlightTargets: after.inFlightTargets + after.rows - before.rows,
})

/** Compares two readings of a vendor; undefined when the vendor's period was renewed in between. */
export const compare = (first: Reading, last: Reading): Comparison | undefined => {
  const { provider, unit } = last
  const isRenewed =
    first.unit !== unit || first.resetsAt !== last.resetsAt || last.used < first.used
  if (isRenewed) return undefined
  const { known, most } = unit === "rows" ? inRows : inMoney(last)
  const reported = last.used - first.used
  const computed = known(last) - known(first)
  const calls = last.unknownCalls - first.unknownCalls
  const targets = last.unknownTargets - first.unknownTargets
  const unknown =
    most(Math.max(0, calls), Math.max(0, targets)) + most(last.inFlightCalls, last.inFlightTargets)
  // A call without an answer at the first reading may be in the vendor's first count already.
  const least =
    computed -
    most(first.inFlightCalls, first.inFlightTargets) -
    most(Math.max(0, -calls), Math.max(0, -targets))
  return {
    provider,
    since: first.at,
    until: last.at,
    unit,
    reported,
    computed,
    unknown,
    difference: Math.min(0, reported - least) + Math.max(0, reported - computed - unknown),
  }
}

const inRows = {
  known: ({ rows }: Reading) => rows,
  most: (_: number, targets: number) => targets,
}

/**
 * The most that calls cost, by the average of the closed calls. When a vendor's price is a sum for
 * each call and a sum for each target, the larger of both averages is never too low.
 */
const inMoney = ({ calls: closed, cost, rows }: Reading) => ({
  known: ({ cost }: Reading) => cost,
  most: (calls: number, targets: number) =>
    Math.ceil(Math.max((calls * cost) / Math.max(1, closed), (targets * cost) / Math.max(1, rows))),
})

/** Compares each reading with the next one of the same vendor. The readings are oldest first. */
export const comparisons = (readings: Iterable<Reading>): ReadonlyArray<Comparison> => {
  const latest = new Map<string, Reading>()
  const found: Array<Comparison> = []
  for (const reading of readings) {
    const before = latest.get(reading.provider)
    const comparison = before && compare(before, reading)
    if (comparison !== undefined) found.push(comparison)
    latest.set(reading.provider, reading)
  }
  return found
}
