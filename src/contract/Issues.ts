/** The issues in the body of a 400: one for each violation of the contract, with the path to it. */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import {
  ArrayFormatter,
  type Composite,
  decodeUnknownEither,
  type ParseIssue,
  type Refinement,
  type Type,
} from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as Struct from "effect/Struct"
import { list, named } from "./fields.ts"
import { maxJudgedItems } from "./Limits.ts"

const path = list(
  Schema.String,
  'The path to the violation: field names and indexes, for example `["urls", "3"]`.',
)
const message = Schema.String

const Size = {
  type: Schema.Literal("array", "string", "number"),
  inclusive: Schema.Literal(true),
  exact: Schema.Literal(false),
  message,
  path,
}

const size = { type: "string", inclusive: true, exact: false } as const

export const exampleIssue = {
  code: "too_small",
  minimum: 1,
  ...size,
  message: "String must contain at least 1 character(s)",
  path: ["urls", "0"],
} as const

const tooBig = {
  code: "too_big",
  maximum: 1000,
  ...size,
  message: "String must contain at most 1000 character(s)",
  path: ["urls", "3"],
} as const

const invalidType = {
  code: "invalid_type",
  expected: "string",
  received: "number",
  message: "Expected string, received number",
  path: ["urls", "0"],
} as const

export const Issue = Schema.Union(
  named("TooSmall", "A list or a text is too short, or a number too small.", [exampleIssue], {
    code: Schema.Literal("too_small"),
    minimum: Schema.Number,
    ...Size,
  }),
  named("TooBig", "A list or a text is too long, or a number too large.", [tooBig], {
    code: Schema.Literal("too_big"),
    maximum: Schema.Number,
    ...Size,
  }),
  named(
    "InvalidType",
    "A value has the wrong type, or a required field is absent.",
    [invalidType],
    {
      code: Schema.Literal("invalid_type"),
      expected: Schema.String,
      received: Schema.String,
      message,
      path,
    },
  ),
  named(
    "InvalidMessage",
    "The body is not JSON, or a header or a parameter is absent or wrong.",
    [{ code: "invalid_json", message: "The body is not valid JSON", path: [] }],
    {
      code: Schema.Literal(
        "invalid_json",
        "invalid_content_type",
        "invalid_idempotency_key",
        "invalid_header",
        "invalid_url",
        "invalid_value",
      ),
      message,
      path,
    },
  ),
).annotations({ identifier: "ValidationIssue", description: "One violated constraint." })
export type Issue = typeof Issue.Type

export const invalidJson = (message: string): Issue => ({ code: "invalid_json", message, path: [] })

export const invalidContentType: Issue = {
  code: "invalid_content_type",
  message: "The header Content-Type must be application/json",
  path: [],
}

/**
 * Makes a decoder that reports every violation. Of a list in the value, it checks the length and
 * the first `maxJudgedItems` items.
 */
export const decoder = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = decodeUnknownEither(schema, { errors: "all" })
  return (value: unknown): Either.Either<A, ReadonlyArray<Issue>> =>
    Either.mapLeft(decode(shortened(value)), fromParseIssue)
}

/** Cuts each list after the items that are checked. A list that long is too long anyway. */
export const shortened = (value: unknown): unknown =>
  Predicate.isReadonlyRecord(value)
    ? Record.map(value, (field) => (Array.isArray(field) ? field.slice(0, maxJudgedItems) : field))
    : value

/** Makes a decoder of headers that reports only the first invalid one. */
export const headersDecoder = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = decodeUnknownEither(schema)
  return (headers: unknown): Either.Either<A, ReadonlyArray<Issue>> =>
    Either.mapLeft(decode(headers), (issue) => fromParseIssue(issue).map(headerIssue))
}

const headerIssue = ({ message, path }: Issue): Issue => ({
  code: path[0] === "idempotency-key" ? "invalid_idempotency_key" : "invalid_header",
  message,
  path,
})

/** Converts a decoding failure to issues, one for each violation that the decoder reports. */
export const fromParseIssue = (issue: ParseIssue): ReadonlyArray<Issue> => collect(issue, [])

const collect = (issue: ParseIssue, path: ReadonlyArray<string>): ReadonlyArray<Issue> => {
  switch (issue._tag) {
    case "Pointer": {
      const steps = Array.isArray(issue.path) ? issue.path : [issue.path]
      return collect(issue.issue, [...path, ...steps.map(String)])
    }
    case "Composite": {
      // A union that says what it expects gets one issue instead of one for each of its members.
      if (isExplained(issue)) return [valueIssue(issue, path)]
      const issues = "_tag" in issue.issues ? [issue.issues] : issue.issues
      // The member `null` of a union adds no issue: the other member says what is wrong.
      const others = issues.filter((inner) => inner._tag !== "Type" || !isNull(inner.ast))
      return others.flatMap((inner) => collect(inner, path))
    }
    case "Transformation":
      return collect(issue.issue, path)
    case "Refinement":
      // The filter of an object names the field.
      return issue.kind === "From" || issue.issue._tag === "Pointer"
        ? collect(issue.issue, path)
        : [sizeIssue(issue.ast, path) ?? valueIssue(issue, path)]
    case "Missing":
      return [{ ...typeIssue(issue.ast.type, undefined, path), message: "Required" }]
    case "Type":
      return [valueIssue(issue, path)]
    case "Unexpected":
    case "Forbidden":
      return [
        { ...typeIssue(SchemaAST.neverKeyword, issue.actual, path), message: "Unknown field" },
      ]
  }
}

// The size constraints by their JSON Schema keyword: the type of value that the keyword limits, and
// the message around the number. The issues have the format and the wording of Zod 3.
const sizes = {
  minItems: ["array", "Array must contain at least", " element(s)"],
  maxItems: ["array", "Array must contain at most", " element(s)"],
  minLength: ["string", "String must contain at least", " character(s)"],
  maxLength: ["string", "String must contain at most", " character(s)"],
  minimum: ["number", "Number must be greater than or equal to", ""],
  maximum: ["number", "Number must be less than or equal to", ""],
} as const

const sizeIssue = (ast: SchemaAST.Refinement, path: ReadonlyArray<string>): Issue | undefined => {
  const bounds = Option.getOrElse(SchemaAST.getJSONSchemaAnnotation(ast), () => ({}))
  for (const [bound, [type, text, unit]] of Struct.entries(sizes)) {
    const n = Predicate.hasProperty(bounds, bound) ? bounds[bound] : undefined
    if (!Predicate.isNumber(n)) continue
    const rest = { ...size, type, message: `${text} ${n}${unit}`, path }
    return bound.startsWith("min")
      ? { code: "too_small", minimum: n, ...rest }
      : { code: "too_big", maximum: n, ...rest }
  }
  return undefined
}

// Prefers the message of the schema, which says what it expects.
const valueIssue = (issue: Composite | Type | Refinement, path: ReadonlyArray<string>): Issue => {
  const [said] = isExplained(issue) ? ArrayFormatter.formatIssueSync(issue) : []
  return said === undefined
    ? typeIssue(issue.ast, issue.actual, path)
    : { code: "invalid_value", message: said.message, path }
}

const isExplained = (issue: Composite | Type | Refinement) =>
  Option.isSome(SchemaAST.getMessageAnnotation(issue.ast)) ||
  (issue._tag === "Type" && issue.message !== undefined)

const typeIssue = (ast: SchemaAST.AST, actual: unknown, path: ReadonlyArray<string>) => {
  const expected = expectedType(ast)
  const received = receivedType(actual)
  const message = `Expected ${expected}, received ${received}`
  return { code: "invalid_type", expected, received, message, path } as const
}

const expectedType = (ast: SchemaAST.AST): string => {
  if (ast._tag === "Refinement" && isInteger(ast)) return "integer"
  if (ast._tag === "Refinement" || ast._tag === "Transformation") return expectedType(ast.from)
  return types[ast._tag] ?? String(ast)
}

const types: Partial<Record<SchemaAST.AST["_tag"], string>> = {
  TupleType: "array",
  TypeLiteral: "object",
  Declaration: "object",
  StringKeyword: "string",
  NumberKeyword: "number",
  BooleanKeyword: "boolean",
}

const isNull = (ast: SchemaAST.AST) => SchemaAST.isLiteral(ast) && ast.literal === null

const isInteger = (ast: SchemaAST.Refinement) =>
  Option.exists(
    SchemaAST.getJSONSchemaAnnotation(ast),
    (json) => Predicate.hasProperty(json, "type") && json.type === "integer",
  )

const receivedType = (actual: unknown): string =>
  actual === null ? "null" : Array.isArray(actual) ? "array" : typeof actual
