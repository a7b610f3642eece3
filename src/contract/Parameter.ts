/** The parameters of queries. */
import type * as Arr from "effect/Array"
import * as Schema from "effect/Schema"
import * as Limits from "./Limits.ts"
import { optional } from "./fields.ts"

/** A whole number in digits, from `minimum` to `maximum`. */
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

/** The maximum number of rows of a list. */
export const limit = (rows: string) =>
  Schema.optionalWith(
    wholeNumber(1, Limits.maxRows).annotations({
      description: `The maximum number of ${rows}: 1 to ${Limits.maxRows}, by default ${Limits.defaultRows}.`,
    }),
    { exact: true, default: () => Limits.defaultRows },
  )

/** The sequence below which a page of a list ends. */
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
