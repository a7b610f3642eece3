/** The test suite of the port MetricsCache. It runs over memory and every database. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as MemoryMetricsCache from "../src/memory/MetricsCache.ts"
import { type Figures, MetricsCache } from "../src/MetricsCache.ts"
import * as SqlMetricsCache from "../src/sql/MetricsCache.ts"
import * as Postgres from "../src/sql/Postgres.ts"
import { databases, migrated, temporaryDatabase, untilAnotherWaits } from "./support/Stores.ts"

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
  index: undefined,
  of: undefined,
})

for (const [name, layer] of stores) {
  describe(`MetricsCache in ${name}`, () => {
    const test = (title: string, body: Effect.Effect<void, unknown, MetricsCache>) =>
      it.effect(title, () => Effect.provide(body, layer))

    test(
      "the metrics cache returns the latest figures by provider and page, with their index and domain",
      Effect.gen(function* () {
        const cache = yield* MetricsCache
        const { spamScore: _, ...metrics } = figures("", 0).metrics
        const bare = { ...figures("example.com/b", 20), metrics }
        const named = { ...figures("www.example.com/", 30), index: "2026-09-01", of: "example.com" }
        yield* cache.put([figures("example.com/a", 5)])
        yield* cache.put([figures("example.com/a", 10), bare, named])
        yield* cache.put([figures("example.com/a", 15, "dataset")])
        const pages = ["example.com/a", "example.com/b", "example.com/c", named.page] as const
        const known = yield* cache.get("moz", pages, 0)
        assert.deepStrictEqual(
          known.toSorted((a, b) => a.fetchedAt - b.fetchedAt),
          [figures("example.com/a", 10), bare, named],
        )
        assert.deepStrictEqual(yield* cache.get("other", pages, 0), [])
      }),
    )

    test(
      "figures bought again unchanged extend an observation, and other figures make a new one",
      Effect.gen(function* () {
        const cache = yield* MetricsCache
        const other = { domainAuthority: 50, pageAuthority: 57.7 }
        const bought = [
          figures("example.com/", 10),
          figures("example.com/", 20),
          { ...figures("example.com/", 30), metrics: other },
          { ...figures("example.com/", 40), metrics: other },
          { ...figures("example.com/", 50), metrics: other, index: "2026-09" },
          figures("example.com/", 25, "dataset"),
          figures("example.org/", 60),
        ]
        for (const one of bought) yield* cache.put([one])
        const seen = (limit: number, since = 0) =>
          Effect.map(cache.observations("example.com/", { since, limit }), (observations) =>
            observations.map((one) => [
              one.provider,
              one.fetchedAt,
              one.lastFetchedAt,
              one.metrics.domainAuthority,
              one.metrics.spamScore,
              one.index,
            ]),
          )
        const all = [
          ["moz", 50, 50, 50, undefined, "2026-09"],
          ["moz", 30, 40, 50, undefined, undefined],
          ["dataset", 25, 25, 49.29, 100, undefined],
          ["moz", 10, 20, 49.29, 100, undefined],
        ]
        assert.deepStrictEqual(yield* seen(10), all)
        assert.deepStrictEqual(yield* seen(2), all.slice(0, 2))
        assert.deepStrictEqual(yield* seen(10, 25), all.slice(0, 2))
        yield* cache.sweep(20)
        assert.deepStrictEqual(yield* seen(10), all.slice(0, 3))
        yield* cache.sweep(49)
        assert.deepStrictEqual(yield* seen(10), all.slice(0, 1))
      }),
    )

    test(
      "the provider's own history becomes observations, whose age counts from the purchase",
      Effect.gen(function* () {
        const cache = yield* MetricsCache
        const past = (at: number, authority: number) => ({
          at,
          metrics: { domainAuthority: authority, pageAuthority: authority },
          index: `index ${at}`,
        })
        const history = [past(2, 7), past(1, 6)]
        yield* cache.put([{ ...figures("example.com/", 100), history }])
        const observed = cache.observations("example.com/", { since: 99, limit: 10 })
        assert.deepStrictEqual(
          (yield* observed).map(({ fetchedAt, index, metrics, ofVendor }) => [
            fetchedAt,
            metrics.domainAuthority,
            index,
            ofVendor,
          ]),
          [
            [100, 49.29, undefined, false],
            [2, 7, "index 2", true],
            [1, 6, "index 1", true],
          ],
        )
        yield* cache.sweep(100)
        assert.deepStrictEqual(yield* observed, [])
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

describe("a metrics cache in PostgreSQL that two processes use", () => {
  it.scopedLive("two processes can store figures of the same pages concurrently", () =>
    Effect.gen(function* () {
      const database = migrated(Postgres.layer(yield* temporaryDatabase))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const cache = yield* MetricsCache
        const pages = ["example.com/a", "example.com/b"] as const
        yield* cache.put([figures(pages[0], 1), figures(pages[1], 1)])
        const store = (page: string) => sql`UPDATE figures SET fetched_at = 2 WHERE page = ${page}`
        const hasBegun = yield* Effect.makeLatch()
        const putting = yield* Effect.fork(
          Effect.zipRight(hasBegun.await, cache.put([figures(pages[1], 3), figures(pages[0], 3)])),
        )
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* store(pages[0])
            yield* hasBegun.open
            yield* untilAnotherWaits
            yield* store(pages[1])
          }),
        )
        yield* Fiber.join(putting)
        const stored = yield* cache.get("moz", pages, 0)
        assert.deepStrictEqual(
          stored.map(({ fetchedAt }) => fetchedAt),
          [3, 3],
        )
      }).pipe(Effect.provide(SqlMetricsCache.layer.pipe(Layer.provideMerge(database))))
    }),
  )
})
