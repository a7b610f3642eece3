/** A provider that answers as a test tells it, and remembers what it was asked. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Metrics, Outcome } from "../../src/Metrics.ts"
import { MetricsProvider, type ProviderError } from "../../src/MetricsProvider.ts"
import type { Target } from "../../src/Target.ts"

type Lookup = (
  targets: NonEmptyReadonlyArray<Target>,
) => Effect.Effect<ReadonlyArray<Outcome>, ProviderError>

export const figures: Metrics = { domainAuthority: 93.5, pageAuthority: 61, spamScore: 2 }

export const checked = (metrics: Metrics = figures) => Outcome.Checked({ metrics })

export const failed = Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "as scripted" })

/** Every target has the same figures. */
export const succeeding: Lookup = (targets) => Effect.succeed(targets.map(() => checked()))

/** `calls` has the pages of each lookup so far. */
export const make = (lookup: Lookup) => {
  const calls: Array<ReadonlyArray<string>> = []
  const layer = Layer.succeed(MetricsProvider, {
    name: "scripted",
    lookup: (targets) =>
      Effect.suspend(() => {
        calls.push(targets.map(({ page }) => page))
        return lookup(targets)
      }),
  })
  return { calls, layer }
}
