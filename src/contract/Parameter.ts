/** The parameters of queries. */
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

const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

const expected = () => ({
  message: "Expected a UTC day such as 2026-11-21, or a time such as 2026-11-21T09:30:00Z",
  override: true,
})

// `new Date` turns February 30 into March 2.
const isRealDay = (time: string) => {
  const day = time.slice(0, "2026-11-21".length)
  const date = new Date(day)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}

/** A UTC day, which stands for its first moment, or a time with its zone. */
export const Time = Schema.compose(
  Schema.String.pipe(
    Schema.filter((text) => isoTime.test(text) && isRealDay(text), {
      message: expected,
      jsonSchema: {},
    }),
  ),
  Schema.Date.annotations({ message: expected }),
)

/** The start or the end of a period. */
export const time = (description: string, day: string) =>
  optional(Time.annotations({ jsonSchema: { type: "string", description, examples: [day] } }))
