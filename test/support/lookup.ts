/** Helpers for provider tests: targets, lookups and short outcomes. */
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import type { Outcome } from "../../src/Metrics.ts"
import { MetricsProvider } from "../../src/MetricsProvider.ts"
import { Target } from "../../src/Target.ts"

/** Parses valid URLs to targets. */
export const targets = (...urls: ReadonlyArray<string>): Arr.NonEmptyReadonlyArray<Target> => {
  const [first, ...rest] = urls.map((url) => Either.getOrThrow(Target.parse(url)))
  if (first === undefined) throw new Error("no targets")
  return [first, ...rest]
}

/** Builds the provider, looks up the URLs once, and closes the provider. */
export const lookup = (
  { layer }: { readonly layer: Layer.Layer<MetricsProvider> },
  ...urls: ReadonlyArray<string>
) =>
  Effect.flatMap(MetricsProvider, (provider) => provider.lookup(targets(...urls))).pipe(
    Effect.provide(layer),
  )

/** Builds the provider, asks it for its status, and closes it. Dies when it has none. */
export const status = ({ layer }: { readonly layer: Layer.Layer<MetricsProvider> }) =>
  Effect.flatMap(MetricsProvider, ({ status }) => status ?? Effect.dieMessage("no status")).pipe(
    Effect.provide(layer),
  )

export const tags = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map((outcome) => (outcome._tag === "Checked" ? "ok" : outcome.reason))
