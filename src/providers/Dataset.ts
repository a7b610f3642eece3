/**
 * Figures from an imported list of names by rank: Common Crawl's web graph, the Majestic Million or
 * Tranco. They cost nothing and need no network, and are a metric of their own, nobody else's.
 *
 * The scale is logarithmic and the same for every list: rank 1 is 100, every tenfold is 12.5 less,
 * and 0 is reached at 100 million. Domain authority is the registered domain's; page authority is
 * the host's own where the list holds it, else the domain's. Spam scores there are none, and a
 * domain that the list does not hold is a failure, not a zero.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Outcome } from "../Metrics.ts"
import { MetricsProvider, nothingKnown, ProviderError } from "../MetricsProvider.ts"
import { Rankings } from "../dataset/Rankings.ts"
import type { Target } from "../Target.ts"
import { failed } from "./Batches.ts"

export const layer: Layer.Layer<MetricsProvider, never, Rankings> = Layer.effect(
  MetricsProvider,
  Effect.map(Rankings, (rankings) =>
    MetricsProvider.of({
      name: "dataset",
      known: nothingKnown,
      lookup: Effect.fn("Dataset.lookup")(function* (targets: NonEmptyReadonlyArray<Target>) {
        const [first, ...rest] = targets
        const names = new Set(rest.flatMap(({ domain, host }) => [domain, host]))
        const ranks = yield* rankings
          .ranks([first.domain, ...names.add(first.host)])
          .pipe(Effect.mapError(({ message }) => unavailable(message)))
        return targets.map(({ domain, host }) => {
          const rank = ranks.get(domain)
          if (rank === undefined) return failed("the data set does not hold the domain")
          return Outcome.Checked({
            metrics: {
              domainAuthority: authority(rank),
              pageAuthority: authority(ranks.get(host) ?? rank),
            },
          })
        })
      }),
    }),
  ),
)

/** Two decimals, from 0 to 100. */
export const authority = (rank: number): number =>
  Math.max(0, Math.round(10_000 - 1250 * Math.log10(rank)) / 100)

const unavailable = (detail: string) =>
  new ProviderError({ provider: "dataset", reason: "Unavailable", detail })
