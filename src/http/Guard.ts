/**
 * A schema's own filters without its machinery. Nearly every body is as it should be, and to see
 * that takes a few comparisons; the decoder, which is there to tell what is wrong, takes many times
 * as long to say that nothing is.
 */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"

type Test = (value: unknown) => boolean

/**
 * True for a value that the schema takes as it is. False says nothing: the value may be wrong, or
 * the schema have a part that only its decoder knows.
 */
export const make = <A>(schema: Schema.Schema<A>): ((value: unknown) => value is A) => {
  const test = testOf(schema.ast)
  return (value): value is A => test(value)
}

const testOf = (ast: SchemaAST.AST): Test => {
  switch (ast._tag) {
    case "StringKeyword":
      return (value) => typeof value === "string"
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
