import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Provider from "../../src/server/Providers.ts"
import { MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import * as SqlCosts from "../../src/providers/costs/SqlCosts.ts"
import { Rankings } from "../../src/providers/dataset/Rankings.ts"
import * as Settings from "../../src/Settings.ts"
import * as Migrations from "../../src/database/migrations/migrate.ts"
import * as SqlMetricsCache from "../../src/providers/figures/SqlMetricsCache.ts"
import * as SqlRankings from "../../src/providers/dataset/SqlRankings.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { targets } from "../support/lookup.ts"

/** Makes the provider of a program with these environment variables. */
const started = (environment: Readonly<Record<string, string>>) =>
  Provider.layer.pipe(
    Layer.provide(Settings.from(environment)),
    Layer.provideMerge(Layer.mergeAll(SqlRankings.layer, SqlMetricsCache.layer, SqlCosts.layer)),
    Layer.provide(Layer.provideMerge(Migrations.layer, Sqlite.layer(":memory:"))),
  )

describe("the provider that the settings name", () => {
  const vendors = Settings.ProviderName.literals.filter(
    (name) => name !== "sandbox" && name !== "dataset",
  )
  for (const names of [...vendors, "dataset,moz"]) {
    it.effect(`the provider ${names} does not start without its settings`, () =>
      Effect.gen(function* () {
        const layer = started({ AUTHORITY_PROVIDER: names })
        const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
        assert.match(error.message, /^AUTHORITY_\w+ is not set, but the provider needs it; .+$/)
      }),
    )
  }

  for (const names of [",", "moz,", "alexa", "moz,moz", "moz,sandbox", "sandbox,moz"]) {
    it.effect(`the provider list "${names}" is refused`, () =>
      Effect.gen(function* () {
        const layer = started({ AUTHORITY_PROVIDER: names, AUTHORITY_MOZ_TOKEN: "x" })
        const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
        assert.match(error.message, /^AUTHORITY_PROVIDER: expected one or more of sandbox, moz/)
        assert.notInclude(error.message, "\n")
      }),
    )
  }

  it.scopedLive(
    'the provider list "moz, dataset" takes the figures that Moz lacks from the dataset',
    () =>
      Effect.gen(function* () {
        const moz = yield* FakeMoz.make
        moz.script(FakeMoz.partial((page) => page !== "example.org/"))
        const layer = started({
          AUTHORITY_PROVIDER: "moz, dataset",
          AUTHORITY_MOZ_TOKEN: FakeMoz.token,
          AUTHORITY_MOZ_URL: moz.url,
        })
        yield* Effect.gen(function* () {
          const provider = yield* MetricsProvider
          const rankings = yield* Rankings
          yield* rankings.replace(Stream.make([{ name: "example.org", rank: 100 }]), "tranco")
          const outcomes = yield* provider.lookup(targets("example.org", "example.com"), {
            account: "a",
            deadline: Infinity,
            maxAgeMs: 0,
            requestId: "r",
            charged: 0,
          })
          const figures = outcomes.map((outcome) =>
            outcome._tag === "Checked" ? [outcome.provider, outcome.metrics] : outcome,
          )
          assert.deepStrictEqual(figures, [
            ["dataset", { domainAuthority: 75, pageAuthority: 75 }],
            ["moz", FakeMoz.figures("example.com/")],
          ])
          assert.strictEqual(provider.name, "moz,dataset")
        }).pipe(Effect.provide(layer))
      }),
  )
})
