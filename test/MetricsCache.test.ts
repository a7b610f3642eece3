/** The test suite of the port MetricsCache. It runs over memory and every database. */
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MemoryMetricsCache from "../src/memory/MetricsCache.ts"
import { type Figures, MetricsCache } from "../src/MetricsCache.ts"
import * as SqlMetricsCache from "../src/sql/MetricsCache.ts"
import { databases } from "./support/Stores.ts"

const stores: ReadonlyArray<readonly [string, Layer.Layer<MetricsCache, unknown>]> = [
  ["memory", MemoryMetricsCache.layer],
  ...databases.map(
    ([name, database]) => [name, SqlMetricsCache.layer.pipe(Layer.provide(database))] as const,
  ),
]

const figures = (page: string, fetchedAt: number, provider = "moz"): Figures => ({
  provider,
  page,
  metrics: { domainAuthority: 49.29, pageAuthority: 0, spamScore: 100 },
  fetchedAt,
})

for (const [name, layer] of stores) {
  describe(`MetricsCache in ${name}`, () => {
    const test = (title: string, body: Effect.Effect<void, unknown, MetricsCache>) =>
      it.effect(title, () => Effect.provide(body, layer))

    test(
      "the metrics cache returns stored figures by provider and page",
      Effect.gen(function* () {
        const cache = yield* MetricsCache
        const { spamScore: _, ...metrics } = figures("", 0).metrics
        const bare = { ...figures("example.com/b", 20), metrics }
        yield* cache.put([figures("example.com/a", 10), bare])
        yield* cache.put([figures("example.com/a", 15, "dataset")])
        const pages = ["example.com/a", "example.com/b", "example.com/c"] as const
        const known = yield* cache.get("moz", pages, 0)
        assert.deepStrictEqual(
          known.toSorted((a, b) => a.fetchedAt - b.fetchedAt),
          [figures("example.com/a", 10), bare],
        )
        assert.deepStrictEqual(yield* cache.get("other", pages, 0), [])
      }),
    )

    test(
      "figures that are stored again replace the old ones",
      Effect.gen(function* () {
        const cache = yield* MetricsCache
        yield* cache.put([figures("example.com/", 10)])
        yield* cache.put([figures("example.com/", 20)])
        assert.deepStrictEqual(yield* cache.get("moz", ["example.com/"], 0), [
          figures("example.com/", 20),
        ])
      }),
    )

    test(
      "the metrics cache returns no figures older than the given time, and a sweep deletes them",
      Effect.gen(function* () {
        const cache = yield* MetricsCache
        const all = Arr.makeBy(2500, (i) => figures(`example.com/${i}`, i + 1))
        for (const some of Arr.chunksOf(all, 200)) yield* cache.put(some)
        const pages = ["example.com/998", "example.com/999", "example.com/2499"] as const
        const fetched = Effect.map(cache.get("moz", pages, 0), (found) =>
          found.map(({ fetchedAt }) => fetchedAt).toSorted((a, b) => a - b),
        )
        assert.deepStrictEqual(
          (yield* cache.get("moz", pages, 1000)).map(({ fetchedAt }) => fetchedAt),
          [2500],
        )
        assert.deepStrictEqual(yield* fetched, [999, 1000, 2500])
        yield* cache.sweep(999)
        assert.deepStrictEqual(yield* fetched, [1000, 2500])
        yield* cache.sweep(2499)
        assert.deepStrictEqual(yield* fetched, [2500])
      }),
    )
  })
}
