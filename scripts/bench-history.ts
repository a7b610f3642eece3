/**
 * Measures the history of figures: what it costs to store `--observations` observations, of
 * `--per-page` different figures for each page, to read one page's history, and their size on disk.
 * Every page is bought `--per-page` times, each time with other figures.
 *
 *     node scripts/bench-history.ts [--observations 1000000] [--per-page 10]
 *       [--database sqlite|postgres]
 */
import { parseArgs } from "node:util"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Figures, MetricsCache } from "../src/providers/MetricsCache.ts"
import * as SqlMetricsCache from "../src/providers/SqlMetricsCache.ts"
import { migrated } from "./support/newDatabase.ts"

const { values: options } = parseArgs({
  options: {
    observations: { type: "string", default: "1000000" },
    "per-page": { type: "string", default: "10" },
    database: { type: "string", default: "sqlite" },
  },
})
const perPage = Number(options["per-page"])
const pages = Math.ceil(Number(options.observations) / perPage)

/** As many as one write of the cache has. */
const putSize = 200

const pageOf = (n: number) => `www.example-${n}.com/articles/${n}`

const figures = (n: number, time: number): Figures => ({
  provider: "moz",
  page: pageOf(n),
  metrics: { domainAuthority: (n + time) % 100, pageAuthority: (n * 7 + time) % 100, spamScore: 1 },
  fetchedAt: 1_760_000_000_000 + time * 86_400_000 + n,
  index: undefined,
  of: undefined,
})

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.timed(effect), ([duration]) => Duration.toMillis(duration))

const sizeOf = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.onDialectOrElse({
    sqlite: () =>
      sql`SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size`,
    orElse: () => sql`SELECT pg_database_size(current_database()) AS bytes`,
  }),
).pipe(Effect.map(([row]) => Number(row?.["bytes"])))

const measured = Effect.gen(function* () {
  const cache = yield* MetricsCache
  const before = yield* sizeOf
  for (let time = 0; time < perPage; time++) {
    const ms = yield* timed(
      Effect.forEach(
        Arr.chunksOf(Arr.range(1, pages), putSize),
        (some) => cache.put(Arr.map(some, (n) => figures(n, time))),
        { discard: true },
      ),
    )
    const what = time === 0 ? "new pages" : "changed figures"
    console.log(`purchase ${time + 1}, ${what}: ${((ms / pages) * 1000).toFixed(1)} µs per page`)
  }
  const bytes = ((yield* sizeOf) - before) / (pages * perPage)
  console.log(`${pages * perPage} observations: ${bytes.toFixed(0)} bytes each`)
  const reads = 1000
  const ms = yield* timed(
    Effect.forEach(
      Arr.range(1, reads),
      (i) =>
        cache.observations(pageOf((i * 7919) % pages), { since: 0, until: Date.now(), limit: 100 }),
      { discard: true },
    ),
  )
  console.log(`reading the history of a page: ${(ms / reads).toFixed(3)} ms`)
})

const caches = SqlMetricsCache.layer.pipe(Layer.provideMerge(migrated(options.database)))
await Effect.runPromise(Effect.provide(measured, caches))
