/**
 * The OpenAPI document as the wire has it: the framework's own, without what the framework would
 * answer by default and what its schemas are called inside, and with the headers of the answers.
 */
import * as Predicate from "effect/Predicate"
import { invalidRequestDescription, retryAfterSeconds } from "./Envelope.ts"

export const complete = (generated: unknown): Record<string, unknown> => {
  const document = withoutFramework(generated)
  for (const operation of operationsOf(document)) {
    for (const [status, response] of entries(operation["responses"])) {
      response["headers"] = headersOf(status, "requestBody" in operation)
    }
  }
  return document
}

const withoutFramework = (generated: unknown): Record<string, unknown> => Object(strip(generated))

const strip = (generated: unknown): unknown => {
  if (Array.isArray(generated)) return generated.map(strip)
  if (generated === frameworkDescription) return invalidRequestDescription
  if (!Predicate.isRecord(generated)) return generated
  const { anyOf } = generated
  if (Array.isArray(anyOf) && anyOf.some(isFrameworkError)) {
    return strip(anyOf.find((schema) => !isFrameworkError(schema)))
  }
  return Object.fromEntries(
    Object.entries(generated).flatMap(([key, value]) =>
      isNoise(key, value, generated) ? [] : [[key, strip(value)]],
    ),
  )
}

const frameworkDescription = "The request did not match the expected schema"
const frameworkSchemas = ["HttpApiDecodeError", "Issue", "PropertyKey"]

const isFrameworkError = (schema: unknown) =>
  Predicate.hasProperty(schema, "$ref") && schema.$ref === "#/components/schemas/HttpApiDecodeError"

const isNoise = (key: string, value: unknown, owner: Record<string, unknown>): boolean =>
  frameworkSchemas.includes(key) ||
  // A response whose only body would be the framework's.
  (key === "400" &&
    /HttpApiDecodeError/.test(JSON.stringify(value)) &&
    !/anyOf/.test(JSON.stringify(value))) ||
  // The names of the filters, and closed objects where the interface ignores unknown fields.
  (key === "title" && "type" in owner) ||
  (key === "additionalProperties" && value === false) ||
  // An empty list here would take back the key that every endpoint needs.
  ((key === "security" || key === "parameters") && Array.isArray(value) && value.length === 0)

const entries = (record: unknown): ReadonlyArray<[string, Record<string, unknown>]> =>
  Object.entries(Object(record))

const operationsOf = (document: Record<string, unknown>) =>
  entries(document["paths"]).flatMap(([, path]) => entries(path).map(([, operation]) => operation))

const header = (description: string, type: "string" | "integer", example: string | number) => ({
  description,
  schema: { type, examples: [example] },
})

const headersOf = (status: string, isBatch: boolean) => ({
  "x-request-id": header(
    "The name of this request in the service's log and on the account's statement.",
    "string",
    "01936f2e-7c1a-7b3e-9d52-3f0c5a1e8b47",
  ),
  ...(status === "200" &&
    isBatch && {
      "idempotent-replayed": header(
        "`true` when this is the kept answer to an earlier request with the same Idempotency-Key.",
        "string",
        "true",
      ),
    }),
  ...((status === "409" || status === "503") && {
    "retry-after": header(
      "Seconds to wait before the same request is sent again.",
      "integer",
      retryAfterSeconds,
    ),
  }),
  ...(status === "429" && {
    "retry-after": header("Seconds to wait before the next request.", "integer", 12),
    "ratelimit-policy": header(
      "The limit: how many requests (`q`) in how many seconds (`w`).",
      "string",
      '"account";q=600;w=60',
    ),
    ratelimit: header(
      "What is left of it (`r`), and the seconds until it starts anew (`t`).",
      "string",
      '"account";r=0;t=12',
    ),
  }),
})
