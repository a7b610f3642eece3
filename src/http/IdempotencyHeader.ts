/**
 * Parses the header `Idempotency-Key`. The IETF draft requires a quoted string, such as
 * `"8e03978e"`. A key without quotes is accepted too, because many clients send it.
 */
import * as Either from "effect/Either"
import { InvalidRequest } from "../contract/Envelope.ts"
import { invalidIdempotencyKey } from "../contract/Wire.ts"

const maxLength = 255

/** Returns the key without quotes and escapes, or undefined when there is no header. */
export const fromHeader = (
  header: string | undefined,
): Either.Either<string | undefined, InvalidRequest> => {
  if (header === undefined) return Either.right(undefined)
  const key = quoted.test(header) ? header.slice(1, -1).replaceAll(/\\(.)/g, "$1") : header
  return key.length > 0 && key.length <= maxLength && (quoted.test(header) || bare.test(header))
    ? Either.right(key)
    : Either.left(InvalidRequest.because([invalidIdempotencyKey]))
}

/** A string as in RFC 8941: printable ASCII in quotes, with quotes and backslashes escaped. */
const quoted = /^"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/
const bare = /^[\x21\x23-\x5b\x5d-\x7e]+$/
