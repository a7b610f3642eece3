/** Parses the header `x-max-credits`: the most that a request may cost. */
import * as Either from "effect/Either"
import { InvalidRequest } from "../contract/Envelope.ts"
import { invalidLimit } from "../contract/Wire.ts"
import { type Credits, creditsOf } from "../ledger/Credits.ts"

/** Returns the limit, or undefined when there is no header. */
export const fromHeader = (
  header: string | undefined,
): Either.Either<Credits | undefined, InvalidRequest> => {
  if (header === undefined) return Either.right(undefined)
  const credits = Number(header)
  return /^\d+$/.test(header) && Number.isSafeInteger(credits)
    ? Either.right(creditsOf(credits))
    : Either.left(InvalidRequest.because([invalidLimit]))
}
