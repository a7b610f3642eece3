/**
 * The interface's contract, and nothing of how it is kept: from it come the decoding of requests,
 * the encoding of responses, the OpenAPI document and the typed client.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { CurrentAccount } from "../Account.ts"
import { FailureReason, Metrics } from "../Metrics.ts"
import * as Envelope from "./Envelope.ts"

const SubmittedUrl = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1000)).annotations({
  description: "A domain or a URL. Lengths count UTF-16 code units.",
})

export const BatchRequest = Schema.Struct({
  // The innermost bound is the only one that is told of beside bad elements; too few have none.
  urls: Schema.Array(SubmittedUrl).pipe(Schema.maxItems(50), Schema.minItems(1)).annotations({
    description: "1 to 50 domains or URLs; each is a check of its own.",
  }),
}).annotations({
  identifier: "BatchRequest",
  description: "What to check.",
  examples: [{ urls: ["example.com", "https://www.example.org/page"] }],
})

/** Takes any value: what is wrong with one is told in the envelope, not by the framework. */
const IdempotencyHeaders = Schema.Struct({
  "idempotency-key": Schema.optionalWith(
    Schema.String.annotations({
      description:
        "A name for this request, unique to it, 1 to 255 characters in quotes. The same key with the " +
        "same body within 24 hours brings the same answer back, without a second charge and with " +
        "the header `idempotent-replayed: true`.",
    }),
    { exact: true },
  ),
})

const Count = Schema.Int.pipe(Schema.greaterThanOrEqualTo(0))

const url = Schema.String.annotations({ description: "As it was submitted." })

export const BatchResponse = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({
    successUrls: Schema.Array(Schema.Struct({ url, ...Metrics.fields })),
    failedUrls: Schema.Array(Schema.Struct({ url, reason: FailureReason })),
  }),
  quota: Schema.Struct({
    creditsUsed: Count.annotations({ description: "Only successful checks are charged." }),
  }),
}).annotations({ identifier: "BatchResponse", description: "What became of each URL." })

export const CreditsResponse = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({
    availableCredits: Count.annotations({ description: "Granted, less charged and held." }),
  }),
}).annotations({ identifier: "CreditsResponse", description: "What may still be spent." })

/** Before anything else about a request is looked at. */
export class Authorization extends HttpApiMiddleware.Tag<Authorization>()("Authorization", {
  failure: Envelope.Unauthorized.body,
  provides: CurrentAccount,
  security: {
    apiKey: HttpApiSecurity.apiKey({ in: "header", key: "x-api-key" }),
  },
}) {}

const metrics = HttpApiGroup.make("metrics", { topLevel: true }).add(
  HttpApiEndpoint.post("checkBatch", "/v1/metrics/da-pa/batch")
    .setHeaders(IdempotencyHeaders)
    .setPayload(BatchRequest)
    .addSuccess(BatchResponse)
    .addError(Envelope.InvalidRequest.body)
    .addError(Envelope.PaymentRequired.body)
    .addError(Envelope.Conflict.body)
    .addError(Envelope.PayloadTooLarge.body)
    .addError(Envelope.UnprocessableContent.body)
    .annotate(OpenApi.Summary, "Check the authority of 1 to 50 domains or URLs")
    .annotate(
      OpenApi.Description,
      "Each URL is judged on its own and appears, as it was submitted, either in `successUrls` or " +
        "in `failedUrls`, both in the order of the request. Only successes are charged.",
    ),
)

const quota = HttpApiGroup.make("quota", { topLevel: true }).add(
  HttpApiEndpoint.get("availableCredits", "/v1/quota/available-credits")
    .addSuccess(CreditsResponse)
    .annotate(OpenApi.Summary, "The credits that the account may still spend"),
)

/**
 * The document tells the wire: without what the framework would answer by default, and without
 * what its schemas are called inside.
 */
const document = (generated: unknown): unknown => {
  if (Array.isArray(generated)) return generated.map(document)
  if (generated === frameworkDescription) return Envelope.invalidRequestDescription
  if (!Predicate.isRecord(generated)) return generated
  const { anyOf } = generated
  if (Array.isArray(anyOf) && anyOf.some(isFrameworkError)) {
    return document(anyOf.find((schema) => !isFrameworkError(schema)))
  }
  return Object.fromEntries(
    Object.entries(generated).flatMap(([key, value]) =>
      isNoise(key, value, generated) ? [] : [[key, document(value)]],
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

export class Api extends HttpApi.make("authority-metrics")
  .add(metrics)
  .add(quota)
  .addError(Envelope.TooManyRequests.body)
  .addError(Envelope.InternalServerError.body)
  .middleware(Authorization)
  .annotate(OpenApi.Title, "Authority metrics")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.Transform, (generated) => Object(document(generated)))
  .annotate(
    OpenApi.Description,
    "How authoritative are these domains and pages? Figures from 0 to 100, paid in credits.",
  ) {}
