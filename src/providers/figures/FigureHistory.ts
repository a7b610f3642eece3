/**
 * Lists the figures that providers gave for a page over time. They come from earlier checks, so
 * nothing is bought. Clients see the history as it was one cache lifetime ago: the history is free,
 * and must not replace a check.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { MetricsCache, type Observation } from "./MetricsCache.ts"
import { type InvalidUrl, Target } from "../../check/Target.ts"

export interface History {
  readonly url: string
  readonly target: Target
  readonly observations: ReadonlyArray<Observation>
}

export type Reader = "client" | "operator"

export class FigureHistory extends Context.Tag("authority/FigureHistory")<
  FigureHistory,
  {
    /** Returns at most `limit` observations. May die with StoreFailure. */
    readonly of: (url: string, limit: number, reader: Reader) => Effect.Effect<History, InvalidUrl>
  }
>() {}

export interface Options {
  /** How long an observation is kept after it was last fetched. With 0, every list is empty. */
  readonly kept: Duration.Duration
  readonly cacheTtl: Duration.Duration
}

export const layer = (options: Options): Layer.Layer<FigureHistory, never, MetricsCache> =>
  Layer.effect(
    FigureHistory,
    Effect.map(MetricsCache, (cache) =>
      FigureHistory.of({
        of: Effect.fn("FigureHistory.of")(function* (url, limit, reader) {
          const target = yield* Target.parse(url)
          if (Duration.isZero(options.kept)) return { url, target, observations: [] }
          const now = yield* Clock.currentTimeMillis
          const since = now - Duration.toMillis(options.kept)
          const until =
            reader === "client"
              ? now - Duration.toMillis(options.cacheTtl)
              : Number.MAX_SAFE_INTEGER
          const found = yield* cache.observations(target.page, { since, until, limit })
          const observations = found.map((one) => ({
            ...one,
            lastFetchedAt: Math.min(one.lastFetchedAt, until),
          }))
          return { url, target, observations }
        }),
      }),
    ),
  )

export const documentOf = ({ observations, target, url }: History) => ({
  url,
  target: target.page,
  observations: observations.map(({ fetchedAt, index, lastFetchedAt, metrics, provider }) => ({
    fetchedAt: new Date(fetchedAt).toISOString(),
    lastFetchedAt: new Date(lastFetchedAt).toISOString(),
    provider,
    index: index ?? null,
    ...metrics,
  })),
})
