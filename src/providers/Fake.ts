/** A provider for tests. It returns figures from memory and records its calls. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import { type Metrics, Outcome, providerFailed } from "../check/Metrics.ts"
import { type MetricsProvider, ProviderError } from "./MetricsProvider.ts"
import { Target } from "../check/Target.ts"
import { undecorated } from "./Composed.ts"
import { type Vendor, vendor } from "./Vendor.ts"

export interface Fake {
  readonly layer: Layer.Layer<MetricsProvider>
  /** The same provider as a vendor, for `decorated`. */
  readonly vendor: Layer.Layer<Vendor>
  /** The URLs of each call so far, in canonical form, for example `https://example.com/`. */
  readonly calls: ReadonlyArray<ReadonlyArray<string>>
  /** Makes the next call fail as a whole. Each further use makes one more call fail. */
  readonly failNext: (reason: ProviderError["reason"], detail?: string) => void
}

/** The figures of every URL when the test gives no figures of its own. */
export const figures: Metrics = { domainAuthority: 50, pageAuthority: 40, spamScore: 1 }

/**
 * Makes a provider with the name `fake`. `known` maps URLs to figures, and all other URLs fail with
 * PROVIDER_ERROR. Without `known`, every URL has the constant `figures`. Throws when a URL of
 * `known` is invalid.
 */
export const make = (known?: Readonly<Record<string, Metrics>>): Fake => {
  const pages =
    known === undefined
      ? undefined
      : new Map(
          Object.entries(known).map(([url, metrics]) => [
            Either.getOrThrowWith(Target.parse(url), (invalid) => invalid).page,
            metrics,
          ]),
        )
  const calls: Array<ReadonlyArray<string>> = []
  const failures: Array<ProviderError> = []

  const outcomeOf = ({ page }: Target): Outcome => {
    const metrics = pages === undefined ? figures : pages.get(page)
    return metrics === undefined
      ? providerFailed("the test has no figures for this URL", "unknown")
      : Outcome.Checked({ metrics })
  }

  const ours = vendor({
    name: "fake",
    lookup: (targets) =>
      Effect.suspend(() => {
        calls.push(targets.map(({ url }) => url))
        return failures.shift() ?? Effect.succeed(targets.map(outcomeOf))
      }),
  })

  return {
    layer: undecorated(ours),
    vendor: ours,
    calls,
    failNext: (reason, detail = "the test makes this call fail") =>
      void failures.push(new ProviderError({ provider: "fake", reason, detail })),
  }
}
