/**
 * The memories of providers as plain calls, for a caller without a fiber. They are found by the
 * provider that `remembering` gives, and not by a copy of it, which may do something else.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Outcome } from "../Metrics.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import type { Target } from "../Target.ts"

type Provider = MetricsProvider["Type"]

/** As the method `known`, at a time in epoch milliseconds; undefined where somebody has to be asked. */
export type Recall = (
  targets: NonEmptyReadonlyArray<Target>,
  nowMs: number,
) => ReadonlyArray<Outcome> | undefined

const recalls = new WeakMap<Provider, Recall>()

/** The provider with this memory. */
export const remembering = (provider: Omit<Provider, "known">, recall: Recall): Provider => {
  const whole: Provider = {
    ...provider,
    known: (targets) =>
      Effect.map(Clock.currentTimeMillis, (now) => Option.fromNullable(recall(targets, now))),
  }
  recalls.set(whole, recall)
  return whole
}

/** Undefined for a provider without a memory, or with one that takes more than a look. */
export const recallOf = (provider: Provider): Recall | undefined => recalls.get(provider)
