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
import * as Schema from "effect/Schema"
import { CurrentAccount } from "../Account.ts"
import { FailureReason, Metrics } from "../Metrics.ts"
import * as Limits from "./Limits.ts"
import * as OpenApiDocument from "./OpenApiDocument.ts"
import * as Envelope from "./Envelope.ts"

const SubmittedUrl = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(Limits.maxUrlLength),
).annotations({
  description: "A domain or a URL. Lengths count UTF-16 code units.",
})

export const BatchRequest = Schema.Struct({
  // The innermost bound is the only one that is told of beside bad elements; too few have none.
  urls: Schema.Array(SubmittedUrl)
    .pipe(Schema.maxItems(Limits.maxUrls), Schema.minItems(1))
    .annotations({
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
      examples: ['"9f0e6c1a-list-7"'],
    }),
    { exact: true },
  ),
})

const Count = Schema.Number.pipe(Schema.int(), Schema.greaterThanOrEqualTo(0))

const url = Schema.String.annotations({ description: "As it was submitted." })

const Success = Schema.Struct({ url, ...Metrics.fields }).annotations({
  description: "A URL that was checked, and its figures.",
})

const Failure = Schema.Struct({ url, reason: FailureReason }).annotations({
  description: "A URL that was not checked, and why.",
})

export const BatchResponse = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({
    successUrls: Schema.Array(Success),
    failedUrls: Schema.Array(Failure),
  }),
  quota: Schema.Struct({
    creditsUsed: Count.annotations({ description: "Only successful checks are charged." }),
  }),
}).annotations({
  identifier: "BatchResponse",
  description: "What became of each URL.",
  examples: [
    {
      success: true,
      data: {
        successUrls: [
          { url: "example.com", domainAuthority: 91, pageAuthority: 74.5, spamScore: 1 },
          { url: "https://www.example.org/page", domainAuthority: 62, pageAuthority: 40 },
        ],
        failedUrls: [{ url: "localhost", reason: "INVALID_URL" }],
      },
      quota: { creditsUsed: 2 },
    },
  ],
})

export const CreditsResponse = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({
    availableCredits: Count.annotations({ description: "Granted, less charged and held." }),
  }),
}).annotations({
  identifier: "CreditsResponse",
  description: "What may still be spent.",
  examples: [{ success: true, data: { availableCredits: 998 } }],
})

/** Runs before anything else of a request is examined; fails with 401, 429 and 503. */
export class Authorization extends HttpApiMiddleware.Tag<Authorization>()("Authorization", {
  failure: Schema.Union(
    Envelope.Unauthorized.body,
    Envelope.TooManyRequests.body,
    Envelope.ServiceUnavailable.body,
  ),
  provides: CurrentAccount,
  security: {
    apiKey: HttpApiSecurity.apiKey({ in: "header", key: "x-api-key" }).pipe(
      HttpApiSecurity.annotate(OpenApi.Description, "A key that the operator has given out."),
    ),
  },
}) {}

export const batchPath = "/v1/metrics/da-pa/batch"

const metrics = HttpApiGroup.make("metrics", { topLevel: true })
  .annotate(OpenApi.Description, "The authority of domains and pages.")
  .add(
    HttpApiEndpoint.post("checkBatch", batchPath)
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

const quota = HttpApiGroup.make("quota", { topLevel: true })
  .annotate(OpenApi.Description, "The account behind the key.")
  .add(
    HttpApiEndpoint.get("availableCredits", "/v1/quota/available-credits")
      .addSuccess(CreditsResponse)
      .annotate(OpenApi.Summary, "The credits that the account may still spend")
      .annotate(
        OpenApi.Description,
        "What was granted, less what was charged and what requests in flight hold.",
      ),
  )

export class Api extends HttpApi.make("authority-metrics")
  .add(metrics)
  .add(quota)
  .addError(Envelope.InternalServerError.body)
  .addError(Envelope.ServiceUnavailable.body)
  .middleware(Authorization)
  .annotate(OpenApi.Title, "Authority metrics")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.License, { name: "MIT", url: "https://opensource.org/license/mit" })
  .annotate(OpenApi.Servers, [{ url: "/", description: "The service that this document is from." }])
  .annotate(OpenApi.Transform, OpenApiDocument.complete)
  .annotate(
    OpenApi.Description,
    "How authoritative are these domains and pages? Figures from 0 to 100, paid in credits.\n\n" +
      'Every error is `{"success": false, "message": "…"}`, a 400 with `error` beside it. What is ' +
      "no operation of this document is answered in the same way: 404 for another path, 405 for " +
      "another method, 415 for a body with a Content-Encoding.",
  ) {}
