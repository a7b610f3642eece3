import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import * as Runtime from "effect/Runtime"

/** Returns the number of random values for a property: four times as many with `THOROUGH`. */
export const runs = (number: number) =>
  process.env["THOROUGH"] === undefined ? number : 4 * number

/**
 * Checks that a property holds for the examples and for random values, with services that are
 * started once. A failure reports the smallest value found and the seed to repeat it.
 */
export const forAll = <A, R>(
  values: fc.Arbitrary<A>,
  { examples = [], numRuns }: { readonly numRuns: number; readonly examples?: ReadonlyArray<A> },
  property: (value: A) => Effect.Effect<void, unknown, R>,
): Effect.Effect<void, never, R> =>
  Effect.flatMap(Effect.runtime<R>(), (runtime) =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(values, (value) => Runtime.runPromise(runtime)(property(value))),
        { numRuns: runs(numRuns), examples: examples.map((value): [A] => [value]) },
      ),
    ),
  )
