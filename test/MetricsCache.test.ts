/** The test suite of the port MetricsCache. It runs over memory and every database. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as MemoryMetricsCache from "../src/memory/MetricsCache.ts"
import { type Figures, MetricsCache } from "../src/MetricsCache.ts"
import { ClaimTime } from "../src/sql/claims.ts"
import * as SqlMetricsCache from "../src/sql/MetricsCache.ts"
import * as Postgres from "../src/sql/Postgres.ts"
import {
  databases,
  hasPostgres,
  migrated,
  temporaryDatabase,
  untilAnotherWaits,
} from "./support/Stores.ts"

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

/** A page with an address that no compression makes short, as long as a submitted URL can make it. */
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
      "figures of addresses that differ only behind thousands of characters are kept apart",
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
        const observed = yield* cache.observations(one, { since: 0, limit: 10 })
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
  it.scoped(
    "long addresses as version 1.0.0 stored them are found until they are bought anew",
    () =>
      Effect.gen(function* () {
        const cache = yield* MetricsCache
        const sql = yield* SqlClient.SqlClient
        const page = `example.com/${"a".repeat(1000)}`
        yield* cache.put([figures("example.com/", 10)])
        yield* sql`UPDATE figures SET page = ${page}`
        assert.deepStrictEqual(yield* cache.get("moz", [page], 0), [figures(page, 10)])
        yield* cache.put([figures(page, 20)])
        assert.deepStrictEqual(yield* cache.get("moz", [page], 0), [figures(page, 20)])
        const observed = yield* cache.observations(page, { since: 0, limit: 10 })
        assert.deepStrictEqual(
          observed.map(({ fetchedAt }) => fetchedAt),
          [20, 10],
        )
      }).pipe(Effect.provide(Layer.provideMerge(SqlMetricsCache.layer, database))),
  )
})

/** Two processes on one database, whose clock is `now`; by default, the clock of the database. */
const twoProcesses = (now?: () => number) =>
  Effect.forEach([1, 2], () => Layer.build(SqlMetricsCache.layer)).pipe(
    now === undefined ? identity : Effect.provideService(ClaimTime, () => () => String(now())),
    Effect.flatMap((contexts) =>
      Effect.forEach(contexts, (context) => {
        const { claims, ...cache } = Context.get(context, MetricsCache)
        return claims === undefined
          ? Effect.dieMessage("no claims")
          : Effect.succeed({ ...cache, claims })
      }),
    ),
    Effect.map(([one, other]) => {
      assert(one !== undefined && other !== undefined)
      return { one, other }
    }),
  )

const [a, b, c] = ["example.com/a", "example.com/b", longPage("c")] as const

for (const [name, database] of databases) {
  describe(`the claims of two processes in ${name}`, () => {
    it.scoped("a page that a process has claimed is its own until its figures are stored", () =>
      Effect.gen(function* () {
        const { one, other } = yield* twoProcesses(() => 1000)
        assert.deepStrictEqual((yield* one.claims.take("moz", [b, a], 10)).toSorted(), [a, b])
        assert.deepStrictEqual(yield* other.claims.take("moz", [a, b, c], 10), [c])
        assert.deepStrictEqual(yield* other.claims.take("dataforseo", [a], 10), [a])
        yield* other.put([figures(b, 5)])
        assert.deepStrictEqual(yield* other.claims.take("moz", [a, b], 10), [])
        yield* one.put([figures(a, 5)])
        assert.deepStrictEqual(yield* other.claims.take("moz", [a, b], 10), [a])
        assert.lengthOf(yield* other.get("moz", [a], 0), 1)
      }).pipe(Effect.provide(database)),
    )

    it.scoped("a process releases only its own claims", () =>
      Effect.gen(function* () {
        const { one, other } = yield* twoProcesses(() => 1000)
        yield* one.claims.take("moz", [a, b], 10)
        yield* other.claims.release("moz", [a, b])
        assert.deepStrictEqual(yield* other.claims.take("moz", [a, b], 10), [])
        yield* one.claims.release("moz", [b, c])
        assert.deepStrictEqual(yield* other.claims.take("moz", [a, b], 10), [b])
      }).pipe(Effect.provide(database)),
    )

    it.scoped("a claim ends with its lease, which its process can extend", () =>
      Effect.gen(function* () {
        let now = 1000
        const { one, other } = yield* twoProcesses(() => now)
        yield* one.claims.take("moz", [a, b], 10)
        now = 1009
        assert.deepStrictEqual(yield* one.claims.take("moz", [a], 10), [a])
        assert.deepStrictEqual(yield* other.claims.take("moz", [b], 10), [])
        now = 1010
        assert.deepStrictEqual(yield* other.claims.take("moz", [a, b], 10), [b])
        assert.deepStrictEqual(yield* one.claims.take("moz", [b], 10), [])
        yield* one.sweep(0)
        now = 1019
        yield* one.sweep(0)
        const sql = yield* SqlClient.SqlClient
        assert.deepStrictEqual(yield* sql`SELECT page FROM claims WHERE provider = 'moz'`, [
          { page: b },
        ])
      }).pipe(Effect.provide(database)),
    )
  })
}

describe.runIf(hasPostgres)("claims in PostgreSQL", () => {
  const database = Layer.unwrapEffect(
    Effect.map(temporaryDatabase, (url) => migrated(Postgres.layer(url))),
  )

  it.scopedLive("the clock of the database ends a lease", () =>
    Effect.gen(function* () {
      const { one, other } = yield* twoProcesses()
      yield* one.claims.take("moz", [a], 60_000)
      yield* one.claims.take("moz", [b], 0)
      assert.deepStrictEqual(yield* other.claims.take("moz", [a, b], 0), [b])
    }).pipe(Effect.provide(database)),
  )

  it.scopedLive(
    "processes that claim and release the same pages concurrently never share one",
    () =>
      Effect.gen(function* () {
        const { one, other } = yield* twoProcesses()
        const pages = Arr.makeBy(30, (i) => `example.com/${i}`)
        const owners = new Map<string, object>()
        const claim = (process: typeof one, asked: Arr.NonEmptyReadonlyArray<string>) =>
          Effect.gen(function* () {
            const taken = yield* process.claims.take("moz", asked, 60_000)
            for (const page of taken) {
              assert(!owners.has(page), `${page} has two owners`)
              owners.set(page, process)
            }
            yield* Effect.yieldNow()
            for (const page of taken) owners.delete(page)
            const [first] = taken
            if (first !== undefined) yield* process.put([figures(first, 1)])
            yield* process.claims.release("moz", taken.toReversed())
            return taken.length
          })
        const taken = yield* Effect.all(
          [
            Effect.replicateEffect(claim(one, pages), 50),
            Effect.replicateEffect(claim(other, Arr.reverse(pages)), 50),
          ],
          { concurrency: "unbounded" },
        )
        assert.isAbove(
          taken.flat().reduce((sum, count) => sum + count),
          100,
        )
      }).pipe(Effect.provide(database)),
  )
})

describe("stores that processes do not share", () => {
  it.scoped("memory and SQLite have no claims", () =>
    Effect.gen(function* () {
      for (const [name, layer] of stores) {
        const { claims } = yield* Effect.provide(MetricsCache, layer)
        assert.strictEqual(claims === undefined, name !== "PostgreSQL", name)
      }
    }),
  )
})

describe.runIf(hasPostgres)("a metrics cache in PostgreSQL that two processes use", () => {
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
