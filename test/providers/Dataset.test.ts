import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Outcome } from "../../src/check/Metrics.ts"
import * as Dataset from "../../src/providers/dataset/Dataset.ts"
import { Rankings } from "../../src/providers/dataset/Rankings.ts"
import { StoreFailure } from "../../src/database/StoreFailure.ts"
import { ask } from "../support/askVendor.ts"
import { tags } from "../support/lookup.ts"

const ranks = { "example.com": 10, "blog.example.com": 1000, "only.example.org": 5 }

const rankings = Layer.succeed(Rankings, {
  ranks: () => Effect.succeed(new Map(Object.entries(ranks))),
  current: Effect.succeed(Option.some({ name: "tranco", at: 0 })),
  replace: () => Effect.void,
})

const dataset = { layer: Dataset.layer.pipe(Layer.provide(rankings)) }

const index = "tranco, imported 1970-01-01T00:00:00.000Z (an estimate)"

const checked = (domainAuthority: number, pageAuthority: number) =>
  Outcome.Checked({ metrics: { domainAuthority, pageAuthority }, index })

describe("the provider dataset", () => {
  it.effect(
    "the dataset rates a page by its host if the rank list has the host, else by its domain",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(
          yield* ask(dataset, "example.com/a", "blog.example.com", "www.example.com"),
          [checked(87.5, 87.5), checked(87.5, 62.5), { ...checked(87.5, 87.5), of: "example.com" }],
        )
      }),
  )

  it.effect("a domain that is not in the dataset fails instead of getting the figure 0", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(tags(yield* ask(dataset, "unknown.com", "only.example.org")), [
        "PROVIDER_ERROR",
        "PROVIDER_ERROR",
      ])
    }),
  )

  it.effect("a database failure in the dataset provider is reported as a ProviderError", () =>
    Effect.gen(function* () {
      const broken = Layer.succeed(Rankings, {
        ranks: () => Effect.die(new StoreFailure({ message: "the disk is full" })),
        current: Effect.die(new StoreFailure({ message: "the disk is full" })),
        replace: () => Effect.void,
      })
      const layer = Dataset.layer.pipe(Layer.provide(broken))
      assert.containSubset(yield* Effect.flip(ask({ layer }, "example.com")), {
        provider: "dataset",
        reason: "Unavailable",
      })
    }),
  )

  it("the dataset's scale is logarithmic: a rank number that is ten times as large lowers the figure by 12.5 points", () => {
    const ranks = [1, 10, 100, 1_000_000, 100_000_000, 4_000_000_000]
    assert.deepStrictEqual(ranks.map(Dataset.authority), [100, 87.5, 75, 25, 0, 0])
  })
})
