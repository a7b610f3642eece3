/** The query parameters and optional headers of requests, decoded to what handlers need. */
import type * as Arr from "effect/Array"
import * as Schema from "effect/Schema"
import { Credits } from "../ledger/Credits.ts"
import * as Limits from "./Limits.ts"
import { optional } from "./fields.ts"
import { invalidIdempotencyKey } from "./Wire.ts"

const wholeNumber = (minimum: number, maximum: number) =>
  Schema.compose(
    Schema.String.annotations({ jsonSchema: { type: "integer", minimum, maximum } }).pipe(
      Schema.pattern(/^\d{1,9}$/, {
        message: () => "Expected a whole number",
        jsonSchema: {},
      }),
    ),
    Schema.NumberFromString,
  ).pipe(Schema.greaterThanOrEqualTo(minimum), Schema.lessThanOrEqualTo(maximum))

export const limit = (rows: string) =>
  Schema.optionalWith(
    wholeNumber(1, Limits.maxRows).annotations({
      description: `The maximum number of ${rows}: 1 to ${Limits.maxRows}, by default ${Limits.defaultRows}.`,
    }),
    { exact: true, default: () => Limits.defaultRows },
  )

/** Lists only entries with a lower sequence than this one. */
export const before = optional(
  wholeNumber(1, 999_999_999).annotations({
    description:
      "Only rows with a lower sequence: the sequence of the last row of the page before.",
  }),
)

/** One of several names, by default the first. */
export const oneOf = <const Names extends Arr.NonEmptyReadonlyArray<string>>(
  names: Names,
  { message, ...texts }: { readonly message: string; readonly description?: string },
) =>
  Schema.optionalWith(
    Schema.Literal(...names).annotations({
      message: () => ({ message, override: true }),
      ...texts,
    }),
    { exact: true, default: () => names[0] },
  )

const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

// `new Date` turns February 30 into March 2.
const isTime = (time: string) => {
  const day = time.slice(0, "2026-11-21".length)
  const isReal = !Number.isNaN(Date.parse(time)) && isoTime.test(time)
  return isReal && new Date(day).toISOString().startsWith(day)
}

/** A UTC day, which stands for its first moment, or a time with its zone; in epoch milliseconds. */
export const Time = Schema.transform(
  Schema.String.pipe(
    Schema.filter(isTime, {
      message: () => ({
        message: "Expected a UTC day such as 2026-11-21, or a time such as 2026-11-21T09:30:00Z",
        override: true,
      }),
      jsonSchema: {},
    }),
  ),
  Schema.Number,
  { strict: true, decode: Date.parse, encode: (ms) => new Date(ms).toISOString() },
)

/** The start or the end of a period. */
export const time = (description: string, day: string) =>
  optional(Time.annotations({ jsonSchema: { type: "string", description, examples: [day] } }))

const header = (description: string, example: string) =>
  Schema.String.annotations({ description, examples: [example] })

const valid = (
  text: ReturnType<typeof header>,
  isValid: (header: string) => boolean,
  message: string,
) => text.pipe(Schema.filter(isValid, { message: () => message, jsonSchema: {} }))

/**
 * The key without quotes and escapes. The IETF draft requires a string as in RFC 8941, which is
 * printable ASCII in quotes. Accepts a key without quotes too, because many clients send it.
 */
export const idempotencyKey = (description: string, example: string) =>
  optional(
    Schema.transform(
      valid(
        header(description, example),
        (text) => keyPattern.test(text),
        invalidIdempotencyKey.message,
      ),
      Schema.String,
      {
        strict: true,
        decode: (text) =>
          text.startsWith('"') ? text.slice(1, -1).replaceAll(/\\(.)/g, "$1") : text,
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
        header(description, example),
        (text) => /^\d+$/.test(text) && Number.isSafeInteger(Number(text)),
        "The header x-max-credits must be a whole number of credits, 0 or more",
      ),
      Credits,
      { strict: true, decode: Number, encode: String },
    ),
  )

/**
 * `Cache-Control`: the maximum age of figures that the client accepts, in milliseconds. Browsers
 * send this header too, so everything but a valid `max-age` is ignored.
 */
export const maxAgeMs = (description: string, example: string) =>
  optional(
    Schema.transform(header(description, example), Schema.UndefinedOr(Schema.Number), {
      strict: true,
      decode: (text) =>
        membersOf(text).flatMap((directive) => {
          const seconds = /^\s*max-age="?(\d{1,10})"?\s*$/i.exec(directive)?.[1]
          return seconds === undefined ? [] : [Number(seconds) * 1000]
        })[0],
      encode: (ms) => (ms === undefined ? "" : `max-age=${Math.floor(ms / 1000)}`),
    }),
  )

/** `Prefer` (RFC 7240): true when the client asks where each figure comes from. */
export const provenance = (description: string, example: string) =>
  optional(
    Schema.transform(header(description, example), Schema.Boolean, {
      strict: true,
      // An empty value counts as absent.
      decode: (text) =>
        membersOf(text).some((one) => /^\s*provenance\s*(?:=\s*(?:"")?\s*)?(?:;|$)/i.test(one)),
      encode: (isPreferred) => (isPreferred ? "provenance" : ""),
    }),
  )

/** Splits a list at its commas, except those inside quoted strings. */
const membersOf = (list: string): ReadonlyArray<string> =>
  list.match(/(?:"(?:\\.?|[^"\\])*(?:"|$)|[^",])+/g) ?? []
