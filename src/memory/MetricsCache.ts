/** In-memory implementation of the port MetricsCache, for tests. Nothing survives the process. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Layer from "effect/Layer"
import type { Past } from "../Metrics.ts"
import { type Figures, MetricsCache, type Observation } from "../MetricsCache.ts"

interface Stored {
  readonly page: string
  readonly storedAt: number
  readonly observation: Observation
}

export const layer: Layer.Layer<MetricsCache> = Layer.sync(MetricsCache, () => {
  const kept = new Map<string, { readonly figures: Figures; readonly since: number }>()
  let replaced: ReadonlyArray<Stored> = []
  const keyOf = (provider: string, page: string) => `${provider} ${page}`
  const put = ({ history = [], ...figures }: Figures) => {
    const key = keyOf(figures.provider, figures.page)
    const former = kept.get(key)
    const isSame = former !== undefined && isEqual(former.figures, figures)
    if (former !== undefined && !isSame) replaced = [...replaced, observationOf(former)]
    replaced = [...replaced, ...history.map((past) => pastOf(past, figures))]
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
    observations: (page, { limit, since }) =>
      Effect.sync(() =>
        [...replaced, ...[...kept.values()].map(observationOf)]
          .filter((stored) => stored.page === page && stored.storedAt > since)
          .map(({ observation }) => observation)
          .sort((a, b) => b.fetchedAt - a.fetchedAt)
          .slice(0, limit),
      ),
    sweep: (until) =>
      Effect.sync(() => {
        for (const [key, { figures }] of kept) if (figures.fetchedAt <= until) kept.delete(key)
        replaced = replaced.filter(({ storedAt }) => storedAt > until)
      }),
  })
})

const isEqual = (a: Figures, b: Figures) =>
  a.index === b.index && Equal.equals(Data.struct(a.metrics), Data.struct(b.metrics))

const observationOf = ({
  figures: { fetchedAt, index, metrics, page, provider },
  since,
}: {
  readonly figures: Figures
  readonly since: number
}): Stored => ({
  page,
  storedAt: fetchedAt,
  observation: {
    provider,
    metrics,
    fetchedAt: since,
    lastFetchedAt: fetchedAt,
    index,
    ofVendor: false,
  },
})

const pastOf = ({ at, ...past }: Past, { fetchedAt, page, provider }: Figures): Stored => ({
  page,
  storedAt: fetchedAt,
  observation: { ...past, provider, fetchedAt: at, lastFetchedAt: at, ofVendor: true },
})
