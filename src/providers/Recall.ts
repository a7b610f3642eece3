/**
 * Lets callers without a fiber read the cache of a provider synchronously. `remembering` makes a
 * provider and registers the function that reads the provider's cache. A copy of this provider has
 * no registered function, because the copy may behave differently.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Outcome } from "../Metrics.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import type { Target } from "../Target.ts"

type Provider = MetricsProvider["Type"]

/**
 * Returns the outcomes of all targets, in order, without a call to the provider; undefined when a
 * target needs such a call. `nowMs` is in epoch milliseconds.
 */
export type Recall = (
  targets: NonEmptyReadonlyArray<Target>,
  nowMs: number,
) => ReadonlyArray<Outcome> | undefined

const recalls = new WeakMap<Provider, Recall>()

/**
 * Returns a new provider: `provider` with the added method `known`, which calls `recall`.
 * `recallOf` returns `recall` for this new provider.
 */
export const remembering = (provider: Omit<Provider, "known">, recall: Recall): Provider => {
  const remembered: Provider = {
    ...provider,
    known: (targets) =>
      Effect.map(Clock.currentTimeMillis, (now) => Option.fromNullable(recall(targets, now))),
  }
  recalls.set(remembered, recall)
  return remembered
}

/**
 * Returns the `Recall` that is registered for a provider; undefined when no `Recall` is registered.
 */
export const recallOf = (provider: Provider): Recall | undefined => recalls.get(provider)
