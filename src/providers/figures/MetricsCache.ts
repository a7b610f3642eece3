/** The port to the stored figures. If lost, they must be bought again, but nothing breaks. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Metrics } from "../../check/Metrics.ts"

export interface Figures {
  readonly provider: string
  readonly page: string
  readonly metrics: Metrics
  readonly fetchedAt: number
  /** The vendor's index, as in `Origin`. */
  readonly index: string | undefined
  readonly of: string | undefined
}

/** Figures that a provider gave for one page, unchanged from the first time to the last. */
export interface Observation {
  readonly provider: string
  readonly metrics: Metrics
  /** Times in epoch milliseconds. */
  readonly fetchedAt: number
  readonly lastFetchedAt: number
  readonly index: string | undefined
}

/** Which observations to return. Times are in epoch milliseconds. */
export interface Range {
  /** Leaves out observations that were last fetched at or before this time. */
  readonly since: number
  /** Leaves out observations that were first fetched after this time. */
  readonly until: number
  readonly limit: number
}

/** Every method may die with StoreFailure. */
export class MetricsCache extends Context.Tag("authority/MetricsCache")<
  MetricsCache,
  {
    /** Returns the figures fetched after `since`, in epoch milliseconds. */
    readonly get: (
      provider: string,
      pages: NonEmptyReadonlyArray<string>,
      since: number,
    ) => Effect.Effect<ReadonlyArray<Figures>>
    /**
     * Stores figures, replacing older ones of the same pages. Replaced figures that differ become
     * observations. The pages of one provider must be distinct.
     */
    readonly put: (figures: NonEmptyReadonlyArray<Figures>) => Effect.Effect<void>
    /**
     * Returns the observations of one page from all providers, newest first: its current figures
     * and those that they replaced.
     */
    readonly observations: (page: string, range: Range) => Effect.Effect<ReadonlyArray<Observation>>
    /** Deletes figures and observations last fetched by the time `until`, in epoch milliseconds. */
    readonly sweep: (until: number) => Effect.Effect<void>
  }
>() {}
