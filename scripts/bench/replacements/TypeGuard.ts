/**
 * The plain code that the ablation benchmark puts in place of src/schema/TypeGuard.ts. It validates
 * every value with the schema's own, slower decoder.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"

export const decoder = <A, I>(
  schema: Schema.Schema<A, I>,
  options?: SchemaAST.ParseOptions,
): ((value: unknown) => Either.Either<A, ParseResult.ParseIssue>) =>
  ParseResult.decodeUnknownEither(schema, options)

export const make = <A, I>(schema: Schema.Schema<A, I>): ((value: unknown) => value is A) => {
  const decode = decoder(schema)
  return (value): value is A => Either.isRight(decode(value))
}
