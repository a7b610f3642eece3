/** What an API key may be used for: `check` sends batches, `read` everything else. */
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

export const Scope = Schema.Literal("check", "read").annotations({
  message: () => ({ message: "Expected check or read", override: true }),
})
export type Scope = typeof Scope.Type

/** The scopes of a key that was made without naming any, and of every key of an earlier version. */
export const all: ReadonlyArray<Scope> = Scope.literals

export const Scopes = Schema.Array(Scope).pipe(Schema.minItems(1))

const expected = `expected scopes separated by commas, of: ${all.join(", ")}`

/**
 * Scopes as text, for example `check,read`. Decodes them in the order of `all`, without repetition.
 */
export const Text = Schema.transformOrFail(Schema.String, Scopes, {
  strict: true,
  decode: (text, _, ast) => {
    const names = text.split(",").map((name) => name.trim())
    return names.every(Schema.is(Scope))
      ? ParseResult.succeed(all.filter((scope) => names.includes(scope)))
      : ParseResult.fail(new ParseResult.Type(ast, text, expected))
  },
  encode: (scopes) => ParseResult.succeed(textOf(scopes)),
})

export const textOf = (scopes: ReadonlyArray<Scope>) =>
  all.filter((scope) => scopes.includes(scope)).join(",")
