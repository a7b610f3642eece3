/** A vendor in the test's process, for tests that control the clock. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Outcome, providerFailed } from "../../src/check/Metrics.ts"
import { ProviderError } from "../../src/providers/MetricsProvider.ts"
import type { CallContext, Vendor } from "../../src/providers/Vendor.ts"
import type { Target } from "../../src/check/Target.ts"
import { figure } from "../../scripts/support/fakeFigure.ts"

/** The behaviour of one call. */
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

/** Answers only the first target of a call. */
export const short: Step = ([first]) => Effect.succeed([checked(first.page)])

/** Makes the vendor fail the pages that it does not know. */
export const lacks =
  (isUnknown: (page: string) => boolean): Step =>
  (targets) =>
    Effect.succeed(
      targets.map(({ page }) =>
        isUnknown(page) ? providerFailed("not known", "unknown") : checked(page),
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

export const make = (
  options: Partial<
    Pick<Vendor["Type"], "name" | "batchSize" | "maxRefusals" | "billsUnknown">
  > = {},
) => {
  const calls: Array<ReadonlyArray<string>> = []
  const contexts: Array<CallContext> = []
  const steps: Array<Step> = []
  let standing = right
  const vendor: Vendor["Type"] = {
    name: "scripted",
    batchSize: 50,
    maxRefusals: Number.POSITIVE_INFINITY,
    billsUnknown: false,
    status: Effect.succeed({}),
    ...options,
    call: (targets, context) =>
      Effect.suspend(() => {
        calls.push(targets.map(({ page }) => page))
        contexts.push(context)
        return Effect.map((steps.shift() ?? standing)(targets), (outcomes) => ({
          outcomes,
          rows: outcomes.length,
          cost: undefined,
        }))
      }),
  }
  return {
    vendor,
    /** The pages of each call so far. */
    calls,
    /** The context of each call: for whom it was made. */
    contexts,
    /** Sets the behaviour of the next calls, in order. */
    script: (...more: ReadonlyArray<Step>) => void steps.push(...more),
    /** Sets the behaviour of all calls without a script. */
    always: (step: Step) => void (standing = step),
  }
}
