/**
 * The header `Idempotency-Key`, by the IETF's draft: a quoted string, `"8e03978e"`; bare as well,
 * for the many clients that send it so.
 */
import * as Either from "effect/Either"
import { InvalidRequest } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"

const maxLength = 255

/** Undefined when the client sent none. */
export const fromHeader = (
  header: string | undefined,
): Either.Either<string | undefined, InvalidRequest> => {
  if (header === undefined) return Either.right(undefined)
  const key = quoted.test(header) ? header.slice(1, -1).replaceAll(/\\(.)/g, "$1") : header
  return key.length > 0 && key.length <= maxLength && (quoted.test(header) || bare.test(header))
    ? Either.right(key)
    : Either.left(InvalidRequest.because([Issues.invalidIdempotencyKey]))
}

/** A string of RFC 8941: printable ASCII in quotes, with quotes and backslashes escaped. */
const quoted = /^"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/
const bare = /^[\x21\x23-\x5b\x5d-\x7e]+$/
