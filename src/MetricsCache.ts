/**
 * The port to the stored figures. When figures are lost, the provider must be paid for them again,
 * but nothing breaks.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Metrics } from "./Metrics.ts"

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
    /** Stores figures and replaces older ones of the same pages. */
    readonly put: (figures: NonEmptyReadonlyArray<Figures>) => Effect.Effect<void>
    /** Deletes the figures fetched at or before `until`, in epoch milliseconds. */
    readonly sweep: (until: number) => Effect.Effect<void>
  }
>() {}
