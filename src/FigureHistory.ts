/** Lists what providers gave for a page over time, from figures that were bought anyway. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { MetricsCache, type Observation } from "./MetricsCache.ts"
import { type InvalidUrl, Target } from "./Target.ts"

export interface History {
  readonly url: string
  readonly target: Target
  /** Newest first. */
  readonly observations: ReadonlyArray<Observation>
}

export class FigureHistory extends Context.Tag("authority/FigureHistory")<
  FigureHistory,
  {
    /** Returns at most `limit` observations. May die with StoreFailure. */
    readonly of: (url: string, limit: number) => Effect.Effect<History, InvalidUrl>
  }
>() {}

/** `kept` is how long an observation is kept after it was stored. With 0, every list is empty. */
export const layer = (options: {
  readonly kept: Duration.Duration
}): Layer.Layer<FigureHistory, never, MetricsCache> =>
  Layer.effect(
    FigureHistory,
    Effect.map(MetricsCache, (cache) =>
      FigureHistory.of({
        of: Effect.fn("FigureHistory.of")(function* (url, limit) {
          const target = yield* Target.parse(url)
          if (Duration.isZero(options.kept)) return { url, target, observations: [] }
          const since = (yield* Clock.currentTimeMillis) - Duration.toMillis(options.kept)
          return {
            url,
            target,
            observations: yield* cache.observations(target.page, { since, limit }),
          }
        }),
      }),
    ),
  )

/** The history as JSON, for the API and the command line. */
export const documentOf = ({ observations, target, url }: History) => ({
  url,
  target: target.page,
  observations: observations.map(
    ({ fetchedAt, index, lastFetchedAt, metrics, ofVendor, provider }) => ({
      fetchedAt: new Date(fetchedAt).toISOString(),
      lastFetchedAt: new Date(lastFetchedAt).toISOString(),
      provider,
      index: index ?? null,
      ...metrics,
      ...(ofVendor && { ofVendor: true as const }),
    }),
  ),
})
