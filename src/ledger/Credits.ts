import * as Schema from "effect/Schema"

/** A whole number of credits, at most 2^53 - 1 so that JavaScript represents it exactly. */
export const Credits = Schema.NonNegativeInt.pipe(
  Schema.lessThanOrEqualTo(Number.MAX_SAFE_INTEGER),
  Schema.annotations({
    message: () => ({ message: "expected a whole number of credits, 0 or more", override: true }),
  }),
  Schema.brand("Credits"),
)
export type Credits = typeof Credits.Type

/**
 * Makes Credits, or throws when the sum is invalid. Avoids the slow schema check for valid sums.
 */
export const creditsOf = (sum: number): Credits =>
  Credits.make(sum, { disableValidation: Number.isSafeInteger(sum) && sum >= 0 })
