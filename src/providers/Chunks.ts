/** Splits a lookup into calls of limited size, for vendors that limit the targets in one call. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { failureOf, type MetricsProvider } from "../MetricsProvider.ts"
import type { Target } from "../Target.ts"

/** One call to a vendor. Returns one outcome for each target, in the order of the targets. */
export type Ask = MetricsProvider["Type"]["lookup"]

/**
 * Makes calls of at most `size` targets, one after the other. The targets of a failed call get
 * PROVIDER_ERROR. The lookup fails only when every call fails.
 */
export const inChunksOf =
  (size: number, ask: Ask): Ask =>
  (targets) =>
    targets.length <= size ? ask(targets) : askInTurn(Arr.chunksOf(targets, size), ask)

const askInTurn = Effect.fnUntraced(function* (
  chunks: ReadonlyArray<Arr.NonEmptyReadonlyArray<Target>>,
  ask: Ask,
) {
  const answers = yield* Effect.forEach(chunks, (chunk) =>
    Effect.map(Effect.either(ask(chunk)), (answer) => ({ chunk, answer })),
  )
  if (Arr.every(answers, ({ answer }) => Either.isLeft(answer))) {
    const [first] = Arr.getLefts(answers.map(({ answer }) => answer))
    if (first !== undefined) return yield* first
  }
  return answers.flatMap(({ answer, chunk }) =>
    Either.getOrElse(answer, (error) => chunk.map(() => failureOf(error))),
  )
})
