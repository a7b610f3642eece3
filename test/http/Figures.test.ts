/** What a figure is worth, with the stores in each database: over HTTP, in both clients and verbs. */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as EffectClient from "../../src/client/EffectClient.ts"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import { checkedFrom, providerFailed } from "../../src/Metrics.ts"
import * as memory from "../support/memory.ts"
import { type Figures, MetricsCache } from "../../src/providers/MetricsCache.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { vendor } from "../../src/providers/Vendor.ts"
import * as SqlMetricsCache from "../../src/providers/SqlMetricsCache.ts"
import { eventually } from "../../scripts/support/eventually.ts"
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

/** Does not know the hosts `unknown.*`, and fails for the hosts `failing.*`. */
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
  /** A server whose figures live for an hour, with both clients. `all` are in the database. */
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
      const calls: Array<ReadonlyArray<string>> = []
      const scriptedVendor = vendor({
        name: "scripted",
        lookup: (targets) =>
          Effect.suspend(() => {
            calls.push(targets.map(({ page }) => page))
            return scripted(targets)
          }),
      })
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
      const effectClient = yield* EffectClient.make({ baseUrl, apiKey: Redacted.make(key) })
      const client = AuthorityMetrics({ baseUrl, apiKey: key })
      return { ...server, calls, client, effectClient, databaseUrl }
    })

  describe(`figures in ${name}`, () => {
    it.scopedLive("a limit below the price refuses the check before anything is held", () =>
      Effect.gen(function* () {
        const { books, calls, client, effectClient } = yield* running()
        const urls = ["example.com", "example.org", "localhost"]
        const refused = yield* Effect.promise(() =>
          client.check(urls, { maxCredits: 3 }).catch((error: unknown) => error),
        )
        const message = "This request needs 4 credits and its limit in x-max-credits is 3."
        assert.nestedPropertyVal(refused, "message", message)
        const error = yield* Effect.flip(effectClient.check(urls, { maxCredits: 3 }))
        assert.deepInclude(error, { _tag: "InsufficientCredits", status: 402 })
        assert.deepStrictEqual(calls, [])
        assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
        yield* effectClient.check(urls, { maxCredits: 4 })
        assert.strictEqual((yield* books).charged, 4)
      }),
    )

    it.scopedLive("a preview knows what is stored, and what the vendor does not know", () =>
      Effect.gen(function* () {
        const { calls, client, effectClient } = yield* running(
          stored("example.com/", hoursAgo(0.5)),
          stored("example.org/", hoursAgo(1.5)),
        )
        yield* effectClient.check(["unknown.example.com"])
        const urls = ["Example.com", "example.org", "unknown.example.com", "localhost"]
        const promised = yield* Effect.promise(() => client.preview(urls))
        assert.deepStrictEqual(yield* effectClient.preview(urls), promised)
        const { affordable, entries, maxCredits, summary } = promised
        assert.deepStrictEqual(
          entries.map((entry) => (entry.valid ? entry.known : entry.problem)),
          [true, false, true, "its host is not under a public domain ending"],
        )
        const counts = { total: 4, valid: 3, invalid: 1, duplicates: 0, known: 2, toBuy: 1 }
        assert.deepStrictEqual(summary, counts)
        assert.deepStrictEqual([maxCredits, affordable], [6, true])
        // Neither shortens how long an unknown target is remembered.
        const fresh = { maxAgeSeconds: 60 }
        const byAge = yield* Effect.promise(() => client.preview(urls, fresh))
        assert.deepInclude(byAge.summary, { known: 1, toBuy: 2 })
        assert.deepStrictEqual(yield* effectClient.preview(urls, fresh), byAge)
        yield* effectClient.check(["unknown.example.com"], fresh)
        assert.deepStrictEqual(calls, [["unknown.example.com/"]])
      }),
    )

    it.scopedLive("figures are bought, known or stale, and each failure has a cause", () =>
      Effect.gen(function* () {
        const { books, client, effectClient } = yield* running(
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
            const { outcomes } = yield* effectClient.check(urls, asked)
            return [promised.outcomes, outcomes].map((all) =>
              all.map((outcome): string | undefined =>
                "reason" in outcome ? outcome.cause : outcome.provenance?.source,
              ),
            )
          })
        const rest = ["stale", "failed", "unknown", "invalid"]
        assert.deepStrictEqual(yield* sourcesOf({}), [
          ["known", "bought", ...rest],
          ["known", "known", ...rest],
        ])
        assert.strictEqual((yield* books).charged, 2 * 2 * 3)
        assert.deepStrictEqual(yield* sourcesOf({ maxAgeSeconds: 600 }), [
          ["bought", "known", ...rest],
          ["known", "known", ...rest],
        ])
      }),
    )

    it.scopedLive(
      "the history has what was bought a lifetime ago, and nothing while it is off",
      () =>
        Effect.gen(function* () {
          const { client, databaseUrl, effectClient } = yield* running(
            stored("example.com/", hoursAgo(48), 39),
            stored("example.com/", hoursAgo(24)),
            stored("example.com/", hoursAgo(2)),
          )
          yield* effectClient.check(["example.com"])
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

          // Fresh figures cost a credit, so the clients' history does not have them.
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
          const { observations: latest } = yield* effectClient.history("example.com", { limit: 1 })
          assert.deepStrictEqual(latest, observations.slice(0, 1))
          assert.deepStrictEqual(yield* printed({ AUTHORITY_HISTORY: "0s" }), [])
        }),
    )
  })
}
