/** Options that several verbs share. */
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { Credits } from "../ledger/Credits.ts"

export const json = Options.boolean("json").pipe(
  Options.withDescription("Print one JSON document on stdout, and nothing else"),
)

export const accountOption = Options.text("account").pipe(
  Options.withPseudoName("NAME"),
  Options.withDescription("Name or id of the account"),
)

/**
 * Decodes the text of an option or argument. The error message contains `name` and what value was
 * expected.
 */
export const decoded = <A>(name: string, schema: Schema.Schema<A, string>) => {
  const decode = Schema.decode(schema)
  return (text: string): Effect.Effect<A, ValidationError.ValidationError> =>
    Effect.mapError(decode(text), (error) => {
      const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
      return ValidationError.invalidValue(HelpDoc.p(`${name}: ${issue?.message}`))
    })
}

/**
 * A whole number of at least `min`. `of` is a part of the error message: the counted thing, such as
 * " of credits", or an empty text.
 */
export const wholeNumber = (min: 0 | 1, of: string) =>
  Schema.NumberFromString.pipe(
    Schema.compose(Credits),
    Schema.filter((number) => number >= min),
    Schema.annotations({
      message: () => ({ message: `expected a whole number${of}, ${min} or more`, override: true }),
    }),
  )
