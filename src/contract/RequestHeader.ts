/** The optional headers of requests. Their schemas decode a header to what handlers need. */
import * as Schema from "effect/Schema"
import { Credits } from "../ledger/Credits.ts"
import { optional } from "./fields.ts"
import { invalidIdempotencyKey } from "./Wire.ts"

const text = (description: string, example: string) =>
  Schema.String.annotations({ description, examples: [example] })

const valid = (
  header: ReturnType<typeof text>,
  isValid: (header: string) => boolean,
  message: string,
) => header.pipe(Schema.filter(isValid, { message: () => message, jsonSchema: {} }))

/**
 * The key without quotes and escapes. The IETF draft requires a string as in RFC 8941: printable
 * ASCII in quotes. A key without quotes is accepted too, because many clients send it.
 */
export const idempotencyKey = (description: string, example: string) =>
  optional(
    Schema.transform(
      valid(
        text(description, example),
        (header) => keyPattern.test(header),
        invalidIdempotencyKey.message,
      ),
      Schema.String,
      {
        strict: true,
        decode: (header) =>
          header.startsWith('"') ? header.slice(1, -1).replaceAll(/\\(.)/g, "$1") : header,
        encode: (key) => `"${key.replaceAll(/["\\]/g, "\\$&")}"`,
      },
    ),
  )

const keyPattern = /^(?:"(?:[ !#-[\]-~]|\\["\\]){1,255}"|[!#-[\]-~]{1,255})$/

/** `x-max-credits`: the most that a request may cost. */
export const maxCredits = (description: string, example: string) =>
  optional(
    Schema.transform(
      valid(
        text(description, example),
        (header) => /^\d+$/.test(header) && Number.isSafeInteger(Number(header)),
        "The header x-max-credits must be a whole number of credits, 0 or more",
      ),
      Credits,
      { strict: true, decode: Number, encode: String },
    ),
  )

/**
 * `Cache-Control`: the greatest age of figures that the client accepts, in milliseconds. Browsers
 * send the header too, so everything but a valid `max-age` is ignored.
 */
export const maxAgeMs = (description: string, example: string) =>
  optional(
    Schema.transform(text(description, example), Schema.UndefinedOr(Schema.Number), {
      strict: true,
      decode: (header) =>
        membersOf(header).flatMap((directive) => {
          const seconds = /^\s*max-age="?(\d{1,10})"?\s*$/i.exec(directive)?.[1]
          return seconds === undefined ? [] : [Number(seconds) * 1000]
        })[0],
      encode: (ms) => (ms === undefined ? "" : `max-age=${Math.floor(ms / 1000)}`),
    }),
  )

/** `Prefer` (RFC 7240): true when the client asks where each figure comes from. */
export const provenance = (description: string, example: string) =>
  optional(
    Schema.transform(text(description, example), Schema.Boolean, {
      strict: true,
      // An empty value counts as no value.
      decode: (header) =>
        membersOf(header).some((one) => /^\s*provenance\s*(?:=\s*(?:"")?\s*)?(?:;|$)/i.test(one)),
      encode: (isPreferred) => (isPreferred ? "provenance" : ""),
    }),
  )

/** Splits a list at its commas, but not at those inside quoted strings. */
const membersOf = (list: string): ReadonlyArray<string> =>
  list.match(/(?:"(?:\\.?|[^"\\])*(?:"|$)|[^",])+/g) ?? []
