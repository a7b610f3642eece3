/** In-memory implementation of the port MetricsCache, for tests. Nothing survives the process. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Layer from "effect/Layer"
import { type Figures, MetricsCache, type Observation } from "../MetricsCache.ts"

interface Stored {
  readonly figures: Figures
  /** When the same figures were first fetched. */
  readonly since: number
}

export const layer: Layer.Layer<MetricsCache> = Layer.sync(MetricsCache, () => {
  const kept = new Map<string, Stored>()
  let replaced: ReadonlyArray<Stored> = []
  const keyOf = (provider: string, page: string) => `${provider} ${page}`
  const put = (figures: Figures) => {
    const key = keyOf(figures.provider, figures.page)
    const former = kept.get(key)
    const isSame = former !== undefined && isEqual(former.figures, figures)
    if (former !== undefined && !isSame) replaced = [...replaced, former]
    kept.set(key, { figures, since: isSame ? former.since : figures.fetchedAt })
  }
  return MetricsCache.of({
    get: (provider, pages, since) =>
      Effect.sync(() =>
        pages.flatMap((page) => {
          const figures = kept.get(keyOf(provider, page))?.figures
          return figures !== undefined && figures.fetchedAt > since ? [figures] : []
        }),
      ),
    put: (figures) => Effect.sync(() => figures.forEach(put)),
    observations: (page, range) =>
      Effect.sync(() =>
        [...replaced, ...kept.values()]
          .filter(({ figures, since }) => figures.page === page && since <= range.until)
          .filter(({ figures }) => figures.fetchedAt > range.since)
          .map(observationOf)
          .sort((a, b) => b.fetchedAt - a.fetchedAt)
          .slice(0, range.limit),
      ),
    sweep: (until) =>
      Effect.sync(() => {
        for (const [key, { figures }] of kept) if (figures.fetchedAt <= until) kept.delete(key)
        replaced = replaced.filter(({ figures }) => figures.fetchedAt > until)
      }),
  })
})

const isEqual = (a: Figures, b: Figures) =>
  a.index === b.index && Equal.equals(Data.struct(a.metrics), Data.struct(b.metrics))

const observationOf = ({ figures, since }: Stored): Observation => ({
  provider: figures.provider,
  metrics: figures.metrics,
  fetchedAt: since,
  lastFetchedAt: figures.fetchedAt,
  index: figures.index,
})
