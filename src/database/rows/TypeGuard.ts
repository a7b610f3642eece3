/**
 * Compiles a schema to a fast type guard, which confirms a valid value with a few comparisons. The
 * schema's decoder is many times slower, even for valid values, but can explain what is wrong.
 */
import * as Either from "effect/Either"
import { constTrue } from "effect/Function"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

type Test = (value: unknown) => boolean

/**
 * Makes a guard. True means that the schema accepts the value unchanged. False means that the value
 * may be invalid or that the guard does not support the schema: use the decoder then.
 */
export const make = <A, I>(schema: Schema.Schema<A, I>): ((value: unknown) => value is A) => {
  const test = testOf(schema.ast)
  return (value): value is A => test(value)
}

/**
 * A fast decoder for the schema. Unlike the schema's own decoder, it may keep unknown properties.
 */
export const decoder = <A, I>(
  schema: Schema.Schema<A, I>,
): ((value: unknown) => Either.Either<A, ParseResult.ParseIssue>) => {
  const isAsItShouldBe = make(schema)
  const decode = ParseResult.decodeUnknownEither(schema)
  return (value) => (isAsItShouldBe(value) ? Either.right(value) : decode(value))
}

const testOf = (ast: SchemaAST.AST): Test => {
  switch (ast._tag) {
    case "StringKeyword":
      return Predicate.isString
    case "NumberKeyword":
      return Predicate.isNumber
    case "Literal":
      return (value) => value === ast.literal
    case "Union":
      return unionTest(ast)
    case "UnknownKeyword":
      return constTrue
    case "Refinement": {
      const isFrom = testOf(ast.from)
      return (value) => isFrom(value) && Option.isNone(ast.filter(value, options, ast))
    }
    case "TupleType":
      return ast.elements.length === 0 && ast.rest.length === 1 ? arrayTest(ast) : decoderOnly
    case "TypeLiteral":
      return ast.indexSignatures.length === 0 ? structTest(ast) : decoderOnly
    default:
      return decoderOnly
  }
}

const options: SchemaAST.ParseOptions = {}

const decoderOnly: Test = () => false

const arrayTest = ({ rest }: SchemaAST.TupleType): Test => {
  const tests = rest.map(({ type }) => testOf(type))
  return (value) => Array.isArray(value) && tests.every((test) => value.every(test))
}

const structTest = ({ propertySignatures }: SchemaAST.TypeLiteral): Test => {
  const tests = propertySignatures.map(({ name, type }) => [name, testOf(type)] as const)
  return (value) => Predicate.isRecord(value) && tests.every(([name, test]) => test(value[name]))
}

// Supports only strings, numbers, literals and filtered ones as members. In other unions the
// decoder could choose a member that transforms the value, which a guard cannot do.
const unionTest = ({ types }: SchemaAST.Union): Test => {
  const tests = types.map((member) => testOf(member))
  const arePlain = types.every(isPlain)
  return arePlain ? (value) => tests.some((test) => test(value)) : decoderOnly
}

const isPlain = (ast: SchemaAST.AST): boolean =>
  ast._tag === "Refinement" ? isPlain(ast.from) : plain.has(ast._tag)

const plain = new Set<SchemaAST.AST["_tag"]>(["StringKeyword", "NumberKeyword", "Literal"])
