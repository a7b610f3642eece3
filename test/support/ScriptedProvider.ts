/** A provider with scripted answers, which records its calls. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Metrics, Outcome, providerFailed } from "../../src/check/Metrics.ts"
import { MetricsProvider, type ProviderError } from "../../src/providers/MetricsProvider.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { vendor } from "../../src/providers/Vendor.ts"
import type { Target } from "../../src/check/Target.ts"

export type Lookup = (
  targets: NonEmptyReadonlyArray<Target>,
) => Effect.Effect<ReadonlyArray<Outcome>, ProviderError>

export const figures: Metrics = { domainAuthority: 93.5, pageAuthority: 61, spamScore: 2 }

export const checked = (metrics: Metrics = figures) => Outcome.Checked({ metrics })

export const failed = providerFailed("as scripted")

/** A lookup that gives every target the same figures. */
export const succeeding: Lookup = (targets) => Effect.succeed(targets.map(() => checked()))

/** A provider with a cache: it calls `lookup` unless all targets are known. */
export const knowing = (known: (page: string) => Outcome | undefined, lookup: Lookup) => {
  const { calls, layer } = make(lookup)
  const recall = (targets: ReadonlyArray<Target>) => {
    const outcomes = targets.flatMap(({ page }) => known(page) ?? [])
    return outcomes.length === targets.length ? Option.some(outcomes) : Option.none()
  }
  const foreseen = (targets: ReadonlyArray<Target>) =>
    targets.map(({ page }) => (known(page) === undefined ? "asked" : "known"))
  return {
    calls,
    layer: Layer.map(layer, (context) =>
      Context.make(MetricsProvider, {
        ...Context.get(context, MetricsProvider),
        known: (targets) => Effect.sync(() => recall(targets)),
        prospects: (targets) => Effect.sync(() => foreseen(targets)),
      }),
    ),
  }
}

/** Makes a vendor and a provider on top of it. `calls` records the pages of each lookup. */
export const make = (lookup: Lookup) => {
  const calls: Array<ReadonlyArray<string>> = []
  const asked = vendor({
    name: "scripted",
    lookup: (targets) =>
      Effect.suspend(() => {
        calls.push(targets.map(({ page }) => page))
        return lookup(targets)
      }),
  })
  return { calls, vendor: asked, layer: Composed.undecorated(asked) }
}
