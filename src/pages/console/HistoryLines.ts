/** Groups the history of a URL into the lines of a chart: one for each provider. */
import type { Observation, Outcome } from "../../client/PromiseClient.ts"

/** A point of a line: an observation. Times are in epoch milliseconds. */
export interface Point extends Observation {
  readonly from: number
  readonly to: number
  /** The provider's previous index, if this observation is the first one of a new index. */
  readonly formerIndex?: string
}

export interface Line {
  readonly provider: string
  /** Oldest first. */
  readonly points: ReadonlyArray<Point>
}

/**
 * Adds the figures from a URL's outcomes, because the service does not list what it bought within
 * its cache's lifetime. Figures that an observation includes are not added.
 */
export const withOwn = (
  observations: ReadonlyArray<Observation>,
  outcomes: ReadonlyArray<Outcome>,
): ReadonlyArray<Observation> => {
  const all = [...observations]
  for (const outcome of outcomes) {
    if ("reason" in outcome || outcome.provenance === undefined) continue
    const { provenance, url: _, ...figures } = outcome
    const { fetchedAt, index, provider } = provenance
    const isIncluded = all.some(
      (one) =>
        one.provider === provider && one.fetchedAt <= fetchedAt && fetchedAt <= one.lastFetchedAt,
    )
    if (!isIncluded) all.push({ fetchedAt, lastFetchedAt: fetchedAt, provider, index, ...figures })
  }
  return all
}

/** Returns one line for each provider, in the order of their names. */
export const linesOf = (observations: ReadonlyArray<Observation>): ReadonlyArray<Line> =>
  [...Map.groupBy(observations, ({ provider }) => provider)]
    .map(([provider, own]) => ({ provider, points: pointsOf(own) }))
    .sort((a, b) => (a.provider < b.provider ? -1 : 1))

const pointsOf = (observations: ReadonlyArray<Observation>): ReadonlyArray<Point> => {
  // An observation without an index does not say whether the index changed.
  let index: string | null = null
  return observations
    .map((one) => ({ ...one, from: Date.parse(one.fetchedAt), to: Date.parse(one.lastFetchedAt) }))
    .sort((a, b) => a.from - b.from)
    .map((point) => {
      const former = index
      index = point.index ?? index
      return former === null || former === index ? point : { ...point, formerIndex: former }
    })
}

interface Range {
  readonly low: number
  readonly high: number
}

/** Returns the multiples of ten around the values, so that small changes stay visible. */
export const tensAround = (values: ReadonlyArray<number>): Range => {
  const low = Math.min(90, Math.floor(Math.min(...values) / 10) * 10)
  return { low, high: Math.max(low + 10, Math.ceil(Math.max(...values) / 10) * 10) }
}

/** Returns the position of `value` in the range, from 0 to 100; 50 for a range of one value. */
export const positionIn = ({ high, low }: Range, value: number): number =>
  high === low ? 50 : ((value - low) / (high - low)) * 100
