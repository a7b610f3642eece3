/** In-memory implementation of the port MetricsCache, for tests. Nothing survives the process. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Figures, MetricsCache } from "../MetricsCache.ts"

export const layer: Layer.Layer<MetricsCache> = Layer.sync(MetricsCache, () => {
  const kept = new Map<string, Figures>()
  const keyOf = (provider: string, page: string) => `${provider} ${page}`
  return MetricsCache.of({
    get: (provider, pages, since) =>
      Effect.sync(() =>
        pages.flatMap((page) => {
          const figures = kept.get(keyOf(provider, page))
          return figures !== undefined && figures.fetchedAt > since ? [figures] : []
        }),
      ),
    put: (figures) =>
      Effect.sync(() => {
        for (const one of figures) kept.set(keyOf(one.provider, one.page), one)
      }),
    sweep: (until) =>
      Effect.sync(() => {
        for (const [key, { fetchedAt }] of kept) if (fetchedAt <= until) kept.delete(key)
      }),
  })
})
