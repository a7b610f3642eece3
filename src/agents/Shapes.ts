/** The inputs and outputs of the tools, made from the schemas of the contract. */
import type { JsonSchemaType } from "@modelcontextprotocol/server"
import * as JSONSchema from "effect/JSONSchema"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import {
  BatchResponse,
  CreditsResponse,
  HistoryResponse,
  KeyResponse,
  PreviewResponse,
  SubmittedUrl,
  UsageResponse,
} from "../contract/Api.ts"
import { Count, optional } from "../contract/fields.ts"

const maxUrls = 500

const plain = { description: "" }
const url = SubmittedUrl.annotations(plain)
const urls = Schema.Array(url).pipe(Schema.maxItems(maxUrls), Schema.minItems(1))
const batch = BatchResponse.fields.data.fields
const preview = PreviewResponse.fields

export const check = {
  input: Schema.Struct({
    urls: urls.annotations(plain),
    max_credits: optional(Count.annotations({ description: "Refuse instead of spending more." })),
    name: optional(
      Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)).annotations({
        description: "Makes a repeat with the same urls free for 24 hours.",
      }),
    ),
    approval: optional(
      Schema.String.annotations({
        description: "The quote of approval_needed, once the user agreed.",
      }),
    ),
  }),
  output: Schema.Struct({
    successUrls: Schema.Array(batch.successUrls.value.omit("provenance")),
    failedUrls: Schema.Array(batch.failedUrls.value.pick("url", "reason")),
    creditsUsed: Count,
    unchecked: optional(
      Schema.Struct({
        code: Schema.String,
        message: Schema.String,
        urls: Schema.Array(Schema.String),
      }),
    ),
  }),
}

export const previewed = {
  input: Schema.Struct({ urls: urls.annotations(plain) }),
  output: Schema.Struct({ ...preview.data.fields, ...preview.quota.fields }),
}

const nothing: object = { type: "object", properties: {} }

export const balance = {
  input: Schema.Struct({}).annotations({ jsonSchema: nothing }),
  output: Schema.Struct({
    ...CreditsResponse.fields.data.fields,
    budget: KeyResponse.fields.data.fields.budget,
  }),
}

export const history = {
  input: Schema.Struct({ url, limit: optional(Schema.Int.annotations(plain)) }),
  output: HistoryResponse.fields.data,
}

const day = { description: "A UTC day such as 2026-11-01." }

export const usage = {
  input: Schema.Struct({
    since: optional(Schema.String.annotations(day)),
    by: optional(Schema.Literal("day", "key")),
  }),
  output: UsageResponse.fields.data,
}

type Any = Schema.Schema.AnyNoContext

/** The JSON Schemas of a tool. They are short, because clients put them into every prompt. */
export const jsonSchemasOf = ({
  input,
  output,
}: {
  readonly input: Any
  readonly output: Any
}) => ({
  inputSchema: shortened(input, noise),
  outputSchema: shortened(output, [...noise, "description", "minimum", "maximum"]),
})

const noise = ["$schema", "$defs", "title", "examples", "additionalProperties"]

const shortened = (schema: Any, left: ReadonlyArray<string>): JsonSchemaType => {
  const { $defs = {}, ...made } = JSONSchema.make(schema)
  const short = (key: string, value: unknown) => {
    if (left.includes(key) || value === "") return undefined
    if (!Predicate.hasProperty(value, "$ref")) return value
    return $defs[String(value.$ref).replace("#/$defs/", "")]
  }
  return JSON.parse(JSON.stringify(made, short))
}
