/**
 * Tests which figures are bought, known or stale, over HTTP, in the client and in a verb, with each
 * database.
 */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import { checkedFrom, providerFailed } from "../../src/check/Metrics.ts"
import * as memory from "../support/memory.ts"
import { type Figures, MetricsCache } from "../../src/providers/figures/MetricsCache.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { vendor } from "../../src/providers/Vendor.ts"
import * as SqlMetricsCache from "../../src/providers/figures/SqlMetricsCache.ts"
import { eventually } from "../support/eventually.ts"
import { figures, type Lookup } from "../support/ScriptedProvider.ts"
import { ofRun, postgresDatabase, sqliteFile, temporaryDatabase } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { start } from "../support/TestServer.ts"
import { verb } from "../support/Verb.ts"

const databases = [
  [
    "SQLite",
    Effect.map(temporaryFolder, (folder) => {
      const file = join(folder, "authority.db")
      return { url: `sqlite:${file}`, stores: sqliteFile(file) }
    }),
  ],
  [
    "PostgreSQL",
    Effect.map(temporaryDatabase, (url) => ({
      url: Redacted.value(url),
      stores: postgresDatabase(url),
    })),
  ],
] as const

/** A vendor that does not know the hosts `unknown.*`, and fails for the hosts `failing.*`. */
const scripted: Lookup = (targets) =>
  Effect.succeed(
    targets.map(({ host }) => {
      if (host.startsWith("unknown.")) return providerFailed("no such host", "unknown")
      if (host.startsWith("failing.")) return providerFailed("out of order")
      return checkedFrom(figures, { index: "2026-11-01" })
    }),
  )

const hoursAgo = (hours: number) => Date.now() - hours * 3_600_000

const stored = (page: string, fetchedAt: number, domainAuthority = 40): Figures => ({
  provider: "scripted",
  page,
  metrics: { domainAuthority, pageAuthority: 30 },
  fetchedAt,
  index: undefined,
  of: undefined,
})

for (const [name, database] of ofRun(databases)) {
  /** Starts a server, and a client, whose figures live for an hour. `all` are in the database. */
  const running = (...all: ReadonlyArray<Figures>) =>
    Effect.gen(function* () {
      const { stores: built, url: databaseUrl } = yield* database
      const stores = Layer.succeedContext(yield* Layer.build(Layer.orDie(built)))
      const cache = Layer.provide(SqlMetricsCache.layer, stores)
      for (const one of all) {
        yield* Effect.provide(
          Effect.flatMap(MetricsCache, ({ put }) => put([one])),
          cache,
        )
      }
      const scriptedVendor = vendor({ name: "scripted", lookup: scripted })
      const provider = Composed.decorated(scriptedVendor, {
        timeout: "1 second",
        concurrency: 1,
        cache: {
          ttl: Duration.hours(1),
          staleIfError: Duration.hours(1),
          history: Duration.days(730),
          capacity: 100,
        },
      }).pipe(Layer.provide([cache, memory.costs]))
      const server = yield* start({
        stores,
        provider,
        figures: cache,
        cacheTtl: Duration.hours(1),
        price: 2,
      })
      const { key, url: baseUrl } = server
      const client = AuthorityMetrics({ baseUrl, apiKey: key })
      return { ...server, client, databaseUrl }
    })

  describe(`figures in ${name}`, () => {
    it.scopedLive(
      "figures are reported as bought, known or stale, and each failure has a cause",
      () =>
        Effect.gen(function* () {
          const { books, client } = yield* running(
            stored("example.com/", hoursAgo(0.5)),
            stored("failing.example.com/", hoursAgo(1.5)),
            stored("failing.example.org/", hoursAgo(2.5)),
          )
          const urls = [
            "example.com",
            "example.org",
            "failing.example.com",
            "failing.example.org",
            "unknown.example.com",
            "localhost",
          ]
          const sourcesOf = (options: { readonly maxAgeSeconds?: number }) =>
            Effect.gen(function* () {
              const asked = { ...options, provenance: true }
              const promised = yield* Effect.promise(() => client.check(urls, asked))
              return promised.outcomes.map((outcome): string | undefined =>
                "reason" in outcome ? outcome.cause : outcome.provenance?.source,
              )
            })
          const rest = ["stale", "failed", "unknown", "invalid"]
          const preview = yield* Effect.promise(() => client.preview(urls))
          assert.deepInclude(preview.summary, { known: 1, toBuy: 4 })
          assert.deepStrictEqual(yield* sourcesOf({}), ["known", "bought", ...rest])
          assert.strictEqual((yield* books).charged, 2 * 3)
          assert.deepStrictEqual(yield* sourcesOf({}), ["known", "known", ...rest])
          const fresh = { maxAgeSeconds: 600 }
          const asOld = yield* Effect.promise(() => client.preview(urls, fresh))
          // The service remembers which targets the vendor does not know, whatever age the client
          // accepts.
          assert.deepInclude(asOld.summary, { known: 2, toBuy: 3 })
          assert.deepStrictEqual(yield* sourcesOf(fresh), ["bought", "known", ...rest])
        }),
    )

    it.scopedLive("the history shows figures once they are a cache lifetime old, or is off", () =>
      Effect.gen(function* () {
        const { check, client, databaseUrl } = yield* running(
          stored("example.com/", hoursAgo(48), 39),
          stored("example.com/", hoursAgo(24)),
          stored("example.com/", hoursAgo(2)),
        )
        yield* check(["example.com"])
        const cwd = yield* temporaryFolder
        const settings = { AUTHORITY_DATABASE_URL: databaseUrl }
        const printed = (more: Readonly<Record<string, string>> = {}) =>
          Effect.map(
            verb(cwd, ["history", "example.com", "--json"], { ...settings, ...more }),
            ({ stdout }) => JSON.parse(stdout).observations,
          )
        yield* eventually(
          "the purchase is stored",
          Effect.map(printed(), (all) => all.length === 3),
        )
        const [fresh, ...old] = yield* printed()
        assert.deepInclude(fresh, { ...figures, index: "2026-11-01" })

        // Fresh figures cost a credit, so the history that clients see does not include them.
        const { observations, target } = yield* Effect.promise(() =>
          client.history("http://Example.com"),
        )
        assert.strictEqual(target, "example.com/")
        assert.deepStrictEqual(observations, old)
        const values = observations.map(({ domainAuthority, index }) => [domainAuthority, index])
        assert.deepStrictEqual(values, [
          [40, null],
          [39, null],
        ])
        const [extended] = observations
        const heldMs =
          Date.parse(extended?.lastFetchedAt ?? "") - Date.parse(extended?.fetchedAt ?? "")
        assert.closeTo(heldMs, 22 * 3_600_000, 60_000)
        assert.deepStrictEqual(yield* printed({ AUTHORITY_HISTORY: "0s" }), [])
      }),
    )
  })
}
