/** The test suite of the port MetricsCache. It runs over memory and every database. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { type Figures, MetricsCache } from "../../src/providers/figures/MetricsCache.ts"
import * as SqlMetricsCache from "../../src/providers/figures/SqlMetricsCache.ts"
import * as Postgres from "../../src/database/Postgres.ts"
import {
  databases,
  hasPostgres,
  migrated,
  temporaryDatabase,
  untilAnotherWaits,
} from "../support/Stores.ts"

const stores = databases.map(
  ([name, database]) => [name, SqlMetricsCache.layer.pipe(Layer.provide(database))] as const,
)

const figures = (page: string, fetchedAt: number, provider = "moz"): Figures => ({
  provider,
  page,
  metrics: { domainAuthority: 49.29, pageAuthority: 0, spamScore: 100 },
  fetchedAt,
  index: undefined,
  of: undefined,
})

/** A page whose address is as long as a submitted URL can make it, and cannot be compressed. */
const longPage = (end: string) => {
  const letters = Array.from({ length: 980 }, (_, i) => String.fromCodePoint(0x4e00 + i * 21))
  return `example.com/${encodeURI(letters.join(""))}${end}`
}

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
      "figures that are bought again unchanged extend an observation, and changed figures start a new one",
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
        const seen = (limit: number, since = 0, until = 100) =>
          Effect.map(cache.observations("example.com/", { since, until, limit }), (observations) =>
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
        assert.deepStrictEqual(yield* seen(10, 0, 49), all.slice(1))
        assert.deepStrictEqual(yield* seen(2, 0, 30), all.slice(1, 3))
        assert.deepStrictEqual(yield* seen(10, 0, 24), all.slice(3))
        yield* cache.sweep(20)
        assert.deepStrictEqual(yield* seen(10), all.slice(0, 3))
        yield* cache.sweep(49)
        assert.deepStrictEqual(yield* seen(10), all.slice(0, 1))
      }),
    )

    test(
      "figures of addresses that differ only after thousands of characters are kept apart",
      Effect.gen(function* () {
        const cache = yield* MetricsCache
        const [one, other] = [longPage("1"), longPage("2")]
        yield* cache.put([figures(one, 10), figures(other, 20)])
        yield* cache.put([
          { ...figures(one, 30), metrics: { domainAuthority: 1, pageAuthority: 2 } },
        ])
        const found = yield* cache.get("moz", [other, one, longPage("3")], 0)
        assert.deepStrictEqual(found.map(({ fetchedAt, page }) => [page, fetchedAt]).toSorted(), [
          [one, 30],
          [other, 20],
        ])
        const observed = yield* cache.observations(one, { since: 0, until: 100, limit: 10 })
        assert.deepStrictEqual(
          observed.map(({ fetchedAt }) => fetchedAt),
          [30, 10],
        )
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

describe.each(databases)("MetricsCache in %s", (_, database) => {
  it.scoped("history from a vendor, which version 1.1.0 stored, is left out", () =>
    Effect.gen(function* () {
      const cache = yield* MetricsCache
      const sql = yield* SqlClient.SqlClient
      yield* cache.put([figures("example.com/", 10)])
      yield* sql`
        INSERT INTO observations (page, provider, fetched_at, last_fetched_at, vendor_index,
          domain_authority, page_authority, spam_score, of_vendor, stored_at)
        VALUES ('example.com/', 'moz', 1, 1, '1970', 9, 9, NULL, 1, 10)`
      const observed = yield* cache.observations("example.com/", {
        since: 0,
        until: 100,
        limit: 10,
      })
      assert.deepStrictEqual(
        observed.map(({ fetchedAt }) => fetchedAt),
        [10],
      )
    }).pipe(Effect.provide(Layer.provideMerge(SqlMetricsCache.layer, database))),
  )
})

describe.runIf(hasPostgres)("a metrics cache in PostgreSQL, used by two processes", () => {
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
