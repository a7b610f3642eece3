import * as Schema from "effect/Schema"

/** A field that may be absent, but is not undefined. */
export const optional = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.optionalWith(schema, { exact: true })

/** The body of a successful answer that has nothing but data. */
export const data = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct({ success: Schema.Literal(true), data: Schema.Struct(fields) })
