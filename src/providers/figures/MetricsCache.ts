/**
 * The port to the stored figures. When figures are lost, the provider must be paid for them again,
 * but nothing breaks.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Metrics } from "../../check/Metrics.ts"

export interface Figures {
  readonly provider: string
  readonly page: string
  readonly metrics: Metrics
  readonly fetchedAt: number
  /** As in `Origin`. */
  readonly index: string | undefined
  readonly of: string | undefined
}

/** Figures that a provider gave for one page, the same from the first time to the last. */
export interface Observation {
  readonly provider: string
  readonly metrics: Metrics
  /** Times in epoch milliseconds. */
  readonly fetchedAt: number
  readonly lastFetchedAt: number
  readonly index: string | undefined
}

/** Which observations are wanted. Times in epoch milliseconds. */
export interface Range {
  /** Leaves out what was last fetched at or before this time. */
  readonly since: number
  /** Leaves out what was first fetched after this time. */
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
     * Stores figures and replaces older ones of the same pages. Replaced figures that differ become
     * observations. The pages of one provider must be distinct.
     */
    readonly put: (figures: NonEmptyReadonlyArray<Figures>) => Effect.Effect<void>
    /**
     * Returns the observations of one page from all providers, newest first: its figures, and what
     * they replaced.
     */
    readonly observations: (page: string, range: Range) => Effect.Effect<ReadonlyArray<Observation>>
    /** Deletes the figures and observations last fetched at or before `until`, in epoch milliseconds. */
    readonly sweep: (until: number) => Effect.Effect<void>
  }
>() {}
