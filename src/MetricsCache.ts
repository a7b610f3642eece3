/** The port to the figures that outlive a process. Losing them costs money, but breaks nothing. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Metrics } from "./Metrics.ts"
import type { StoreFailure } from "./StoreFailure.ts"

export interface Figures {
  /** Whose they are. */
  readonly provider: string
  /** `Target.page`. */
  readonly page: string
  readonly metrics: Metrics
  /** Epoch milliseconds. */
  readonly fetchedAt: number
}

export class MetricsCache extends Context.Tag("authority/MetricsCache")<
  MetricsCache,
  {
    /** What is known of the pages, fetched after `since`; fails with StoreFailure. */
    readonly get: (
      provider: string,
      pages: NonEmptyReadonlyArray<string>,
      since: number,
    ) => Effect.Effect<ReadonlyArray<Figures>, StoreFailure>
    /** Keeps figures in place of what was known; fails with StoreFailure. */
    readonly put: (figures: NonEmptyReadonlyArray<Figures>) => Effect.Effect<void, StoreFailure>
    /** Forgets what was fetched at `until` or before; fails with StoreFailure. */
    readonly sweep: (until: number) => Effect.Effect<void, StoreFailure>
  }
>() {}
