/** Splits a lookup into calls of limited size, for vendors that limit the targets in one call. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Outcome } from "../Metrics.ts"
import type { ProviderError } from "../MetricsProvider.ts"
import type { Target } from "../Target.ts"

/** One call to a vendor. Returns one outcome for each target, in the order of the targets. */
export type Ask = (
  targets: Arr.NonEmptyReadonlyArray<Target>,
) => Effect.Effect<ReadonlyArray<Outcome>, ProviderError>

/**
 * Makes calls of at most `size` targets, one after the other. The targets of a failed call get
 * PROVIDER_ERROR. The lookup fails only when every call fails.
 */
export const inBatchesOf =
  (size: number, ask: Ask): Ask =>
  (targets) =>
    targets.length <= size ? ask(targets) : askInTurn(Arr.chunksOf(targets, size), ask)

const askInTurn = Effect.fnUntraced(function* (
  batches: ReadonlyArray<Arr.NonEmptyReadonlyArray<Target>>,
  ask: Ask,
) {
  const answers = yield* Effect.forEach(batches, (batch) =>
    Effect.map(Effect.either(ask(batch)), (answer) => ({ batch, answer })),
  )
  if (Arr.every(answers, ({ answer }) => Either.isLeft(answer))) {
    const [first] = Arr.getLefts(answers.map(({ answer }) => answer))
    if (first !== undefined) return yield* first
  }
  return answers.flatMap(({ answer, batch }) =>
    Either.getOrElse(answer, (error) => batch.map(() => failed(error.message))),
  )
})

/** The outcome of a target for which the vendor gives no usable figures. */
export const failed = (detail: string): Outcome =>
  Outcome.Failed({ reason: "PROVIDER_ERROR", detail })
