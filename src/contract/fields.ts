/** Short forms of the schemas that make up the contract. */
import * as Arr from "effect/Array"
import * as Schema from "effect/Schema"

/** A field that may be absent, but is never undefined. */
export const optional = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.optionalWith(schema, { exact: true })

export const text = (description: string) => Schema.String.annotations({ description })

export const flag = (description: string) => Schema.Boolean.annotations({ description })

export const int = (description: string) => Schema.Int.annotations({ description })

export const Count = Schema.Number.pipe(Schema.int(), Schema.greaterThanOrEqualTo(0))
export const count = (description: string) => Count.annotations({ description })

export const list = <A, I>(item: Schema.Schema<A, I>, description: string) =>
  Schema.Array(item).annotations({ description })

export const orNull = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.NullOr(schema).annotations({ description })
export const textOrNull = (description: string) => orNull(Schema.String, description)

export const Time = text("An ISO 8601 time.")

export const account = text("The name of the account.")

/** The body of a successful answer that contains only data. */
export const data = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct({ success: Schema.Literal(true), data: Schema.Struct(fields) })

/** An object with its name, description and examples in the OpenAPI document. */
export const named = <Fields extends Schema.Struct.Fields>(
  identifier: string,
  description: string,
  examples: ReadonlyArray<Schema.Struct<Fields>["Type"]>,
  fields: Fields,
) =>
  Schema.Struct(fields).annotations({
    identifier,
    description,
    ...(Arr.isNonEmptyReadonlyArray(examples) && { examples }),
  })

/** A named answer that contains only data. */
export const answer = <Fields extends Schema.Struct.Fields>(
  identifier: string,
  description: string,
  example: Schema.Struct<Fields>["Type"],
  fields: Fields,
) =>
  data(fields).annotations({
    identifier,
    description,
    examples: [{ success: true, data: example }],
  })

/**
 * Text that every store keeps unchanged. PostgreSQL refuses U+0000, and would store a lone
 * surrogate as another character, which would invalidate the hash of its row.
 */
export const StoredText = Schema.String.pipe(
  Schema.filter((text) => text.isWellFormed() && !text.includes("\0"), {
    message: () => "expected text without U+0000 and without half a character (a lone surrogate)",
    jsonSchema: {},
  }),
)

const maxLength = 200

/** An operator's note or label, of at most 200 characters. */
export const ShortText = StoredText.pipe(
  Schema.maxLength(maxLength, { message: () => `expected at most ${maxLength} characters` }),
)

/** An optional note or label: an empty text becomes null. */
export const ShortTextOrNull = Schema.transform(ShortText, Schema.NullOr(Schema.String), {
  strict: true,
  decode: (text) => (text === "" ? null : text),
  encode: (text) => text ?? "",
})
