import * as Schema from "effect/Schema"

/**
 * Text that every store keeps as it is. PostgreSQL refuses U+0000, and a lone surrogate is stored as
 * another character, so that the hash of its row is wrong.
 */
export const StoredText = Schema.String.pipe(
  Schema.filter((text) => text.isWellFormed() && !text.includes("\0"), {
    message: () => "expected text without U+0000 and without half a character (a lone surrogate)",
    jsonSchema: {},
  }),
)

const maxLength = 200

/** A note or a label of an operator: at most 200 characters. */
export const ShortText = StoredText.pipe(
  Schema.maxLength(maxLength, { message: () => `expected at most ${maxLength} characters` }),
)

/** A note or a label that may be left out: an empty text is null. */
export const ShortTextOrNull = Schema.transform(ShortText, Schema.NullOr(Schema.String), {
  strict: true,
  decode: (text) => (text === "" ? null : text),
  encode: (text) => text ?? "",
})
