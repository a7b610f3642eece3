/** A vendor inside the test's process, for tests that turn the clock. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Outcome } from "../../src/Metrics.ts"
import { type MetricsProvider, nothingKnown, ProviderError } from "../../src/MetricsProvider.ts"
import type { Target } from "../../src/Target.ts"
import { figure } from "../../scripts/support/figures.ts"

/** How one call goes. */
export type Step = (
  targets: NonEmptyReadonlyArray<Target>,
) => Effect.Effect<ReadonlyArray<Outcome>, ProviderError>

export const checked = (page: string) =>
  Outcome.Checked({
    metrics: { domainAuthority: figure(page, "domain"), pageAuthority: figure(page, "page") },
  })

export const right: Step = (targets) => Effect.succeed(targets.map(({ page }) => checked(page)))

export const after =
  (delay: Duration.DurationInput, step: Step = right): Step =>
  (targets) =>
    Effect.delay(step(targets), delay)

export const hang: Step = () => Effect.never

export const bug: Step = () => Effect.dieMessage("a bug in an adapter")

/** Answers the first target only, and gives no outcome at all for the others. */
export const short: Step = ([first]) => Effect.succeed([checked(first.page)])

/** Has no figures for some of the pages. */
export const lacks =
  (isUnknown: (page: string) => boolean): Step =>
  (targets) =>
    Effect.succeed(
      targets.map(({ page }) =>
        isUnknown(page)
          ? Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "unknown" })
          : checked(page),
      ),
    )

export const fails =
  (reason: ProviderError["reason"], retryAfter?: Duration.Duration): Step =>
  () =>
    new ProviderError({
      provider: "scripted",
      reason,
      detail: "as the script says",
      ...(retryAfter !== undefined && { retryAfter }),
    })

export const make = (options: { readonly name?: string; readonly batchSize?: number } = {}) => {
  const calls: Array<ReadonlyArray<string>> = []
  const steps: Array<Step> = []
  let standing = right
  const provider: MetricsProvider["Type"] = {
    name: options.name ?? "scripted",
    known: nothingKnown,
    batchSize: options.batchSize ?? 50,
    lookup: (targets) =>
      Effect.suspend(() => {
        calls.push(targets.map(({ page }) => page))
        return (steps.shift() ?? standing)(targets)
      }),
  }
  return {
    provider,
    /** The pages of each call so far. */
    calls,
    /** How the next calls go, in turn. */
    script: (...more: ReadonlyArray<Step>) => void steps.push(...more),
    /** How calls go that no script tells of. */
    always: (step: Step) => void (standing = step),
  }
}
