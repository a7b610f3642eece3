/**
 * The issues in the body of a 400: one for each violation of the contract, with the path to the
 * violation. A request with an invalid body, `Content-Type` or `Idempotency-Key` fails with
 * `Envelope.InvalidRequest`. A request with another invalid header is answered by
 * `http/HeaderCheck`. In both cases, `Envelope.invalidRequestBody` makes the body of the 400.
 */
import * as Option from "effect/Option"
import {
  ArrayFormatter,
  type Composite,
  type ParseIssue,
  type Refinement,
  type Type,
} from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

const path = Schema.Array(Schema.String).annotations({
  description: 'The path to the violation: field names and indexes, for example `["urls", "3"]`.',
})
const message = Schema.String

const Size = { inclusive: Schema.Literal(true), exact: Schema.Literal(false), message, path }

/** An example of an issue, for the OpenAPI document. */
export const exampleIssue = {
  code: "too_small",
  minimum: 1,
  type: "string",
  inclusive: true,
  exact: false,
  message: "String must contain at least 1 character(s)",
  path: ["urls", "0"],
} as const

/** One violated constraint. */
export const Issue = Schema.Union(
  Schema.Struct({
    code: Schema.Literal("too_small"),
    minimum: Schema.Number,
    type: Schema.Literal("array", "string", "number"),
    ...Size,
  }).annotations({
    identifier: "TooSmall",
    description: "A list or a text is too short, or a number too small.",
    examples: [exampleIssue],
  }),
  Schema.Struct({
    code: Schema.Literal("too_big"),
    maximum: Schema.Number,
    type: Schema.Literal("array", "string", "number"),
    ...Size,
  }).annotations({
    identifier: "TooBig",
    description: "A list or a text is too long, or a number too large.",
    examples: [
      {
        code: "too_big",
        maximum: 1000,
        type: "string",
        inclusive: true,
        exact: false,
        message: "String must contain at most 1000 character(s)",
        path: ["urls", "3"],
      },
    ],
  }),
  Schema.Struct({
    code: Schema.Literal("invalid_type"),
    expected: Schema.String,
    received: Schema.String,
    message,
    path,
  }).annotations({
    identifier: "InvalidType",
    description: "A value has the wrong type, or a required field is absent.",
    examples: [
      {
        code: "invalid_type",
        expected: "string",
        received: "number",
        message: "Expected string, received number",
        path: ["urls", "0"],
      },
    ],
  }),
  Schema.Struct({
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
  }).annotations({
    identifier: "InvalidMessage",
    description: "The body is not JSON, or a header or a parameter is absent or wrong.",
    examples: [{ code: "invalid_json", message: "The body is not valid JSON", path: [] }],
  }),
).annotations({ identifier: "ValidationIssue", description: "One violated constraint." })
export type Issue = typeof Issue.Type

export const invalidJson = (reason: string): Issue => ({
  code: "invalid_json",
  message: reason,
  path: [],
})

export const invalidContentType: Issue = {
  code: "invalid_content_type",
  message: "The header Content-Type must be application/json",
  path: [],
}

/** Makes the issue for an invalid header that HTTP itself defines, such as `Host`. */
export const invalidHeader = (message: string): Issue => ({
  code: "invalid_header",
  message,
  path: [],
})

/** Converts a decoding failure to issues: one issue for each violation that the decoder reports. */
export const fromParseIssue = (issue: ParseIssue): ReadonlyArray<Issue> => collect(issue, [])

const collect = (issue: ParseIssue, path: ReadonlyArray<string>): ReadonlyArray<Issue> => {
  switch (issue._tag) {
    case "Pointer": {
      const steps = Array.isArray(issue.path) ? issue.path : [issue.path]
      return collect(issue.issue, [...path, ...steps.map(String)])
    }
    case "Composite": {
      // A union that says what it expects has one issue, not one for each of its members.
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

// The size constraints: the JSON Schema keyword, the type of value that the keyword limits, and the
// message. The messages have the wording of Zod 3, because the issues have the format of Zod 3.
const sizes = [
  {
    bound: "minItems",
    type: "array",
    says: (n: number) => `Array must contain at least ${n} element(s)`,
  },
  {
    bound: "maxItems",
    type: "array",
    says: (n: number) => `Array must contain at most ${n} element(s)`,
  },
  {
    bound: "minLength",
    type: "string",
    says: (n: number) => `String must contain at least ${n} character(s)`,
  },
  {
    bound: "maxLength",
    type: "string",
    says: (n: number) => `String must contain at most ${n} character(s)`,
  },
  {
    bound: "minimum",
    type: "number",
    says: (n: number) => `Number must be greater than or equal to ${n}`,
  },
  {
    bound: "maximum",
    type: "number",
    says: (n: number) => `Number must be less than or equal to ${n}`,
  },
] as const

const sizeIssue = (ast: SchemaAST.Refinement, path: ReadonlyArray<string>): Issue | undefined => {
  const bounds = Option.getOrElse(SchemaAST.getJSONSchemaAnnotation(ast), () => ({}))
  for (const { bound, says, type } of sizes) {
    const n = Predicate.hasProperty(bounds, bound) ? bounds[bound] : undefined
    if (!Predicate.isNumber(n)) continue
    const rest = { type, message: says(n), inclusive: true, exact: false, path } as const
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
  switch (ast._tag) {
    case "Refinement":
      return isInteger(ast) ? "integer" : expectedType(ast.from)
    case "Transformation":
      return expectedType(ast.from)
    case "TupleType":
      return "array"
    case "TypeLiteral":
    case "Declaration":
      return "object"
    case "StringKeyword":
      return "string"
    case "NumberKeyword":
      return "number"
    case "BooleanKeyword":
      return "boolean"
    default:
      return String(ast)
  }
}

const isNull = (ast: SchemaAST.AST) => SchemaAST.isLiteral(ast) && ast.literal === null

const isInteger = (ast: SchemaAST.Refinement) =>
  Option.exists(
    SchemaAST.getJSONSchemaAnnotation(ast),
    (json) => Predicate.hasProperty(json, "type") && json.type === "integer",
  )

const receivedType = (actual: unknown): string =>
  actual === null ? "null" : Array.isArray(actual) ? "array" : typeof actual
