/**
 * Completes the framework's OpenAPI document so that it describes what the service really sends:
 * removes the framework's default errors and internal schema names, and adds the response headers.
 */
import * as OpenApi from "@effect/platform/OpenApi"
import * as Predicate from "effect/Predicate"
import { invalidRequestDescription, retryAfterSeconds } from "./Envelope.ts"

/** The parts that the documents of both APIs share. */
export const about = (title: string) =>
  OpenApi.annotations({
    title,
    version: "1.0.0",
    servers: [{ url: "/", description: "The service that serves this document." }],
    transform: complete,
  })

/**
 * Turns the document that the framework generates into the published one: removes what
 * `withoutFramework` lists, and adds the response headers and the discriminator of the validation
 * issues.
 */
export const complete = (generated: unknown): Record<string, unknown> => {
  const document = withoutFramework(generated)
  addDiscriminator(document)
  for (const operation of operationsOf(document)) {
    const parameters = new Set(
      valuesOf(operation["parameters"]).map((one) => recordOf(one)["name"]),
    )
    for (const [status, response] of entries(operation["responses"])) {
      response["headers"] = headersOf(status, parameters)
    }
  }
  return document
}

// The discriminator lets code generators distinguish the types of validation issue by `code`.
const addDiscriminator = (document: Record<string, unknown>) => {
  const schemas = recordOf(recordOf(document["components"])["schemas"])
  const { anyOf, ...union } = recordOf(schemas["ValidationIssue"])
  const mapping = valuesOf(anyOf).flatMap((variant) => {
    const $ref = String(recordOf(variant)["$ref"])
    const { code } = recordOf(recordOf(schemas[$ref.split("/").at(-1) ?? ""])["properties"])
    return valuesOf(recordOf(code)["enum"]).map((value) => [value, $ref])
  })
  const discriminator = { propertyName: "code", mapping: Object.fromEntries(mapping) }
  schemas["ValidationIssue"] = { ...union, oneOf: anyOf, discriminator }
}

const recordOf = (value: unknown): Record<string, unknown> =>
  Predicate.isRecord(value) ? value : {}

const valuesOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

// Removes from a generated OpenAPI document the schemas of the framework's own error bodies, the
// generated titles, `additionalProperties: false`, and empty lists.
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
      isLeftOut(key, value, generated) ? [] : [[key, strip(value)]],
    ),
  )
}

const frameworkDescription = "The request did not match the expected schema"
const frameworkSchemas = ["HttpApiDecodeError", "Issue", "PropertyKey"]

const isFrameworkError = (schema: unknown) =>
  Predicate.hasProperty(schema, "$ref") && schema.$ref === "#/components/schemas/HttpApiDecodeError"

const isLeftOut = (key: string, value: unknown, owner: Record<string, unknown>): boolean =>
  frameworkSchemas.includes(key) ||
  // Leave out a response with status 400 whose only body is the framework's own error.
  (key === "400" &&
    /HttpApiDecodeError/.test(JSON.stringify(value)) &&
    !/anyOf/.test(JSON.stringify(value))) ||
  // Leave out titles such as `minLength(1)`, which name filters in the code. Leave out
  // `additionalProperties: false`, because the service ignores unknown fields.
  (key === "title" && "type" in owner) ||
  (key === "additionalProperties" && value === false) ||
  // Leave out empty lists. An empty `parameters` says nothing, and an empty `security` would mean
  // that no API key is needed, although every endpoint needs one.
  ((key === "security" || key === "parameters") && Array.isArray(value) && value.length === 0)

const entries = (record: unknown): ReadonlyArray<[string, Record<string, unknown>]> =>
  Object.entries(Object(record))

const operationsOf = (document: Record<string, unknown>) =>
  entries(document["paths"]).flatMap(([, path]) => entries(path).map(([, operation]) => operation))

const header = (description: string, example: string | number) => ({
  description,
  schema: { type: typeof example === "number" ? "integer" : "string", examples: [example] },
})

const retryAfter = (description: string, example: number = retryAfterSeconds) => ({
  "retry-after": header(description, example),
})

const headersOf = (status: string, parameters: ReadonlySet<unknown>) => ({
  "x-request-id": header(
    "The id of this request, as in the service's log and in the account's statement.",
    "01936f2e-7c1a-7b3e-9d52-3f0c5a1e8b47",
  ),
  ...(status === "200" &&
    parameters.has("idempotency-key") && {
      "idempotent-replayed": header(
        "`true` for the stored answer of an earlier request with the same Idempotency-Key.",
        "true",
      ),
    }),
  ...(status === "200" &&
    parameters.has("prefer") && {
      "preference-applied": header(
        "`provenance` when the answer has it, because the request preferred it.",
        "provenance",
      ),
      vary: header("`Prefer`, together with `preference-applied`.", "Prefer"),
    }),
  ...(status === "402" && {
    "x-limit": header(
      "`balance` when the account has too few credits, `budget` when the budget of the API key has " +
        "too few left. Absent when the request's `x-max-credits` is too low.",
      "budget",
    ),
    ...retryAfter(
      "Seconds to wait before a retry. Only when running requests hold what is missing of the budget.",
    ),
  }),
  ...((status === "409" || status === "503") && retryAfter("Seconds to wait before a retry.")),
  ...(status === "429" && {
    ...retryAfter("Seconds to wait before the next request.", 12),
    "ratelimit-policy": header(
      "The rate limit: `q` requests in `w` seconds.",
      '"account";q=600;w=60',
    ),
    ratelimit: header(
      "The remaining requests (`r`), and the seconds until the limit resets (`t`).",
      '"account";r=0;t=12',
    ),
  }),
})
