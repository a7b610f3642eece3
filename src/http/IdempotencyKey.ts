/**
 * The header `Idempotency-Key`, by the IETF's draft: a quoted string, `"8e03978e"`; bare as well,
 * for the many clients that send it so.
 */
import * as Effect from "effect/Effect"
import { InvalidRequest } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"

const maxLength = 255

/** Undefined when the client sent none. */
export const fromHeader = (
  header: string | undefined,
): Effect.Effect<string | undefined, InvalidRequest> => {
  if (header === undefined) return Effect.succeed(undefined)
  const key = quoted.test(header) ? header.slice(1, -1).replaceAll(/\\(.)/g, "$1") : header
  return key.length > 0 && key.length <= maxLength && (quoted.test(header) || bare.test(header))
    ? Effect.succeed(key)
    : Effect.fail(InvalidRequest.because([Issues.invalidIdempotencyKey]))
}

/** A string of RFC 8941: printable ASCII in quotes, with quotes and backslashes escaped. */
const quoted = /^"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/
const bare = /^[\x21\x23-\x5b\x5d-\x7e]+$/
