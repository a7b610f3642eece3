/** Helpers for provider tests: targets, lookups and short outcomes. */
import type * as Arr from "effect/Array"
import * as Either from "effect/Either"
import type { Outcome } from "../../src/check/Metrics.ts"
import type { LookupContext } from "../../src/providers/MetricsProvider.ts"
import { Target } from "../../src/check/Target.ts"

/** Parses valid URLs to targets. */
export const targets = (...urls: ReadonlyArray<string>): Arr.NonEmptyReadonlyArray<Target> => {
  const [first, ...rest] = urls.map((url) => Either.getOrThrow(Target.parse(url)))
  if (first === undefined) throw new Error("no targets")
  return [first, ...rest]
}

/** The default context of lookups in tests: an arbitrary account, and no deadline. */
export const context = (options: Partial<LookupContext> = {}): LookupContext => ({
  account: "a",
  deadline: Number.POSITIVE_INFINITY,
  maxAgeMs: Number.POSITIVE_INFINITY,
  requestId: "r",
  charged: 0,
  ...options,
})

export const tags = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map((outcome) => (outcome._tag === "Checked" ? "ok" : outcome.reason))
