import * as Schema from "effect/Schema"

const maxLength = 200

/** A note or a label of an operator: at most 200 characters. */
export const ShortText = Schema.String.pipe(
  Schema.maxLength(maxLength, { message: () => `expected at most ${maxLength} characters` }),
)

/** A note or a label that may be left out: an empty text is null. */
export const ShortTextOrNull = Schema.transform(ShortText, Schema.NullOr(Schema.String), {
  strict: true,
  decode: (text) => (text === "" ? null : text),
  encode: (text) => text ?? "",
})
