/** Parses the query of a request for the history. */
import * as Either from "effect/Either"
import { InvalidRequest } from "../contract/Envelope.ts"
import { defaultObservations, maxObservations } from "../contract/Limits.ts"
import type { InvalidUrl } from "../Target.ts"

export const limitOf = (text: string | undefined): Either.Either<number, InvalidRequest> => {
  if (text === undefined) return Either.right(defaultObservations)
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= maxObservations
    ? Either.right(limit)
    : Either.left(refusalOf("invalid_limit", `The limit must be 1 to ${maxObservations}`, "limit"))
}

/** The refusal of a request whose `url` is absent or not a public web address. */
export const noTarget = ({ input, problem }: InvalidUrl): InvalidRequest =>
  refusalOf(
    "invalid_url",
    input === "" ? "The parameter url is absent" : `The url cannot be checked: ${problem}`,
    "url",
  )

const refusalOf = (code: "invalid_limit" | "invalid_url", message: string, name: string) =>
  InvalidRequest.because([{ code, message, path: [name] }])
