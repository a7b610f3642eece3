/**
 * Synchronous access to the caches of providers, for callers without a fiber. The cache is
 * registered for the exact object that `remembering` returns. A copy of this object has no
 * registered cache, because the copy may behave differently.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Outcome } from "../Metrics.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import type { Target } from "../Target.ts"

type Provider = MetricsProvider["Type"]

/** The synchronous form of `known`. Returns undefined when a provider must be asked. */
export type Recall = (
  targets: NonEmptyReadonlyArray<Target>,
  nowMs: number,
) => ReadonlyArray<Outcome> | undefined

const recalls = new WeakMap<Provider, Recall>()

/** Adds the method `known` to a provider and registers its `recall`. */
export const remembering = (provider: Omit<Provider, "known">, recall: Recall): Provider => {
  const whole: Provider = {
    ...provider,
    known: (targets) =>
      Effect.map(Clock.currentTimeMillis, (now) => Option.fromNullable(recall(targets, now))),
  }
  recalls.set(whole, recall)
  return whole
}

/** Returns the registered `Recall` of a provider; undefined when there is none. */
export const recallOf = (provider: Provider): Recall | undefined => recalls.get(provider)
