/**
 * Synchronous access to the caches of providers, for callers without a fiber. `remembering`
 * registers the cache for the exact object that it returns. A copy of this object has no registered
 * cache, because the copy may behave differently.
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
 * Returns the outcomes of all targets, in order; undefined when a target needs a call to the
 * provider. `nowMs` is in epoch milliseconds.
 */
export type Recall = (
  targets: NonEmptyReadonlyArray<Target>,
  nowMs: number,
) => ReadonlyArray<Outcome> | undefined

const recalls = new WeakMap<Provider, Recall>()

/**
 * Returns the provider with an added method `known`, which calls `recall`. Also registers `recall`,
 * so that `recallOf` returns it for the returned provider.
 */
export const remembering = (provider: Omit<Provider, "known">, recall: Recall): Provider => {
  const whole: Provider = {
    ...provider,
    known: (targets) =>
      Effect.map(Clock.currentTimeMillis, (now) => Option.fromNullable(recall(targets, now))),
  }
  recalls.set(whole, recall)
  return whole
}

/**
 * Returns the `Recall` that is registered for a provider; undefined when no `Recall` is registered.
 */
export const recallOf = (provider: Provider): Recall | undefined => recalls.get(provider)
