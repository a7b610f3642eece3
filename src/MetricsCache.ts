/**
 * The port to the stored figures. When figures are lost, the provider must be paid for them again,
 * but nothing breaks.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Metrics, Past } from "./Metrics.ts"

/** The figures of one page from one provider. */
export interface Figures {
  /** The name of the provider that gave the figures. */
  readonly provider: string
  readonly page: string
  readonly metrics: Metrics
  /** When the provider gave the figures, in epoch milliseconds. */
  readonly fetchedAt: number
  /** As in `Origin`. */
  readonly index: string | undefined
  readonly of: string | undefined
  /** Earlier figures from the provider's own history. */
  readonly history?: ReadonlyArray<Past> | undefined
}

/** Figures that a provider gave for one page, the same from the first time to the last. */
export interface Observation {
  readonly provider: string
  readonly metrics: Metrics
  /** Times in epoch milliseconds. */
  readonly fetchedAt: number
  readonly lastFetchedAt: number
  readonly index: string | undefined
  /** True when the provider's own history gave the figures. `fetchedAt` is then its date. */
  readonly ofVendor: boolean
}

/**
 * Says which process buys the figures of which pages, so that no other process buys them meanwhile.
 * Every method may die with StoreFailure.
 */
export interface Claims {
  /**
   * Claims pages for `leaseMs` milliseconds, and extends the claims that this process already has.
   * Returns the pages that are claimed. Other processes have claimed the rest.
   */
  readonly take: (
    provider: string,
    pages: NonEmptyReadonlyArray<string>,
    leaseMs: number,
  ) => Effect.Effect<ReadonlyArray<string>>
  /** Ends this process's claims of pages whose figures it does not store. */
  readonly release: (provider: string, pages: ReadonlyArray<string>) => Effect.Effect<void>
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
     * observations, and so does the `history` of the figures. Ends this process's claims of the
     * pages in the same commit.
     */
    readonly put: (figures: NonEmptyReadonlyArray<Figures>) => Effect.Effect<void>
    /**
     * Returns the observations of one page from all providers, newest first: its figures, and what
     * they replaced. Leaves out those stored at or before `since`, in epoch milliseconds.
     */
    readonly observations: (
      page: string,
      range: { readonly since: number; readonly limit: number },
    ) => Effect.Effect<ReadonlyArray<Observation>>
    /**
     * Deletes the figures fetched at or before `until`, the observations stored at or before it, in
     * epoch milliseconds, and the claims whose lease has ended.
     */
    readonly sweep: (until: number) => Effect.Effect<void>
    /** Absent in a store that processes do not share. */
    readonly claims?: Claims | undefined
  }
>() {}
