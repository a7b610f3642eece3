/**
 * The contract of the HTTP interface, without its implementation. The request decoders, the
 * response encoders, the OpenAPI document and the typed client are derived from this contract.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { CurrentKey } from "../ApiKeys.ts"
import { Period } from "../ledger/Budget.ts"
import { FailureReason, Metrics } from "../Metrics.ts"
import { Explanation, Provenance } from "../Provenance.ts"
import { Scope } from "../Scope.ts"
import * as Limits from "./Limits.ts"
import * as OpenApiDocument from "./OpenApiDocument.ts"
import * as Envelope from "./Envelope.ts"
import * as Parameter from "./Parameter.ts"
import * as Wire from "./Wire.ts"
import { data, optional } from "./fields.ts"

const SubmittedUrl = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(Limits.maxUrlLength),
).annotations({
  description: `A domain or a URL of 1 to ${Limits.maxUrlLength} UTF-16 code units, as counted by JavaScript's length.`,
})

export const BatchRequest = Schema.Struct({
  // Keep `maxItems` before `minItems`: when a list has invalid items, the decoder checks only the
  // first of the two limits. Only an empty list violates `minItems`, and it has no invalid items.
  urls: Schema.Array(SubmittedUrl)
    .pipe(Schema.maxItems(Limits.maxUrls), Schema.minItems(1))
    .annotations({
      description: `1 to ${Limits.maxUrls} domains or URLs. Each URL is a separate check.`,
    }),
}).annotations({
  identifier: "BatchRequest",
  description: "The domains or URLs to check.",
  examples: [{ urls: ["example.com", "https://www.example.org/page", "localhost"] }],
})

const maxAge = optional(
  Schema.String.annotations({
    description:
      "With `max-age=SECONDS`, figures that are older are bought anew. The operator may set a " +
      "least age. Other values are ignored.",
    examples: ["max-age=86400"],
  }),
)

// Accepts any strings. The handler validates them, so that an invalid header gets the contract's
// error body.
const BatchHeaders = Schema.Struct({
  "idempotency-key": optional(
    Schema.String.annotations({
      description:
        "A unique name for this request: 1 to 255 characters in quotes. Within 24 hours, a " +
        "repeat with the same key and the same body gets the stored answer, without a second " +
        "charge and with the header `idempotent-replayed: true`.",
      examples: ['"9f0e6c1a-list-7"'],
    }),
  ),
  "x-max-credits": optional(
    Schema.String.annotations({
      description:
        "The most that this request may cost, as a whole number of credits. When the price of all " +
        "valid URLs is higher, the answer is 402 and nothing is charged. A repeat with the same " +
        "`Idempotency-Key` gets the stored answer whatever the limit.",
      examples: ["20"],
    }),
  ),
  "cache-control": maxAge,
  prefer: optional(
    Schema.String.annotations({
      description:
        "With `provenance`, each success also has `provenance`, and each failure `cause` and " +
        "`detail`. A repeat with the same `Idempotency-Key` needs the same preference.",
      examples: ["provenance"],
    }),
  ),
})

const Count = Schema.Number.pipe(Schema.int(), Schema.greaterThanOrEqualTo(0))

const url = Schema.String.annotations({ description: "The URL as it was submitted." })

const Success = Schema.Struct({
  url,
  ...Metrics.fields,
  provenance: optional(Provenance),
}).annotations({
  identifier: "CheckedUrl",
  description: "A checked URL and its figures.",
  examples: [{ url: "example.com", domainAuthority: 91, pageAuthority: 74.5, spamScore: 1 }],
})

const Failure = Schema.Struct({
  url,
  reason: FailureReason,
  cause: optional(Explanation.fields.cause),
  detail: optional(Explanation.fields.detail),
}).annotations({
  identifier: "FailedUrl",
  description: "A URL that could not be checked, and the reason.",
  examples: [{ url: "localhost", reason: "INVALID_URL" }],
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
  description: "The result for each URL.",
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

const ValidEntry = Schema.Struct({
  url,
  valid: Schema.Literal(true),
  target: Schema.String.annotations({
    description: "Host, path and query of the URL in canonical form. URLs with one target are one.",
  }),
  duplicateOf: Schema.NullOr(Count).annotations({
    description: "The index of the first URL with the same target; null for that first URL.",
  }),
  known: Schema.Boolean.annotations({
    description: "True when the service has the figures and asks no provider.",
  }),
}).annotations({
  identifier: "ValidEntry",
  description: "A URL that can be checked.",
  examples: [
    { url: "Example.com", valid: true, target: "example.com/", duplicateOf: null, known: true },
  ],
})

const InvalidEntry = Schema.Struct({
  url,
  valid: Schema.Literal(false),
  problem: Schema.String.annotations({ description: "Why the URL cannot be checked." }),
}).annotations({
  identifier: "InvalidEntry",
  description: "A URL that cannot be checked.",
  examples: [
    { url: "localhost", valid: false, problem: "its host is not under a public domain ending" },
  ],
})

export const PreviewResponse = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({
    entries: Schema.Array(Schema.Union(ValidEntry, InvalidEntry)).annotations({
      description: "One entry for each URL, in order.",
    }),
    summary: Schema.Struct({
      total: Count,
      valid: Count,
      invalid: Count,
      duplicates: Count,
      known: Count,
      toBuy: Count.annotations({
        description: "Distinct targets that a provider would be asked for.",
      }),
    }).annotations({
      description:
        "`valid` and `invalid` add up to `total`. `known` and `toBuy` add up to `valid` without `duplicates`.",
    }),
  }),
  quota: Schema.Struct({
    maxCredits: Count.annotations({
      description: "The price of the batch when every valid URL is checked successfully.",
    }),
    availableCredits: Count.annotations({ description: "What the account can still spend." }),
    affordable: Schema.Boolean.annotations({
      description: "True when `availableCredits` and the budget of the API key cover `maxCredits`.",
    }),
  }),
}).annotations({
  identifier: "PreviewResponse",
  description: "What a batch would do and cost.",
  examples: [
    {
      success: true,
      data: {
        entries: [
          {
            url: "example.com",
            valid: true,
            target: "example.com/",
            duplicateOf: null,
            known: true,
          },
          {
            url: "https://www.example.org/page",
            valid: true,
            target: "www.example.org/page",
            duplicateOf: null,
            known: false,
          },
          {
            url: "localhost",
            valid: false,
            problem: "its host is not under a public domain ending",
          },
        ],
        summary: { total: 3, valid: 2, invalid: 1, duplicates: 0, known: 1, toBuy: 1 },
      },
      quota: { maxCredits: 2, availableCredits: 998, affordable: true },
    },
  ],
})

const Time = Schema.String.annotations({ description: "An ISO 8601 time." })

const observed = {
  fetchedAt: "2026-09-03T10:00:00.000Z",
  lastFetchedAt: "2026-11-20T10:00:00.000Z",
  provider: "moz",
  index: null,
  domainAuthority: 91,
  pageAuthority: 74.5,
  spamScore: 1,
}

const Observation = Schema.Struct({
  fetchedAt: Time,
  lastFetchedAt: Time,
  provider: Schema.String,
  index: Schema.NullOr(Schema.String).annotations({
    description: "The provider's name or date of its index; null when it names none.",
  }),
  ...Metrics.fields,
}).annotations({
  identifier: "Observation",
  description:
    "Figures that a provider gave. They were the same from `fetchedAt` to `lastFetchedAt`.",
  examples: [observed],
})

export const HistoryResponse = data({
  url,
  target: Schema.String.annotations({
    description: "Host, path and query of the URL in canonical form.",
  }),
  observations: Schema.Array(Observation).annotations({ description: "Newest first." }),
}).annotations({
  identifier: "HistoryResponse",
  description: "The figures of a URL over time.",
  examples: [
    {
      success: true,
      data: { url: "Example.com", target: "example.com/", observations: [observed] },
    },
  ],
})

export const CreditsResponse = data({
  availableCredits: Count.annotations({
    description: "Granted credits minus charged credits and held credits.",
  }),
}).annotations({
  identifier: "CreditsResponse",
  description: "The credits that the account can still spend.",
  examples: [{ success: true, data: { availableCredits: 998 } }],
})

const used = {
  checks: 42,
  credits: 42,
  known: 30,
  bought: 12,
  failed: { INVALID_URL: 2, PROVIDER_ERROR: 1, SERVER_ERROR: 0 },
}

export const UsageRow = Schema.Struct({
  day: optional(Schema.String.annotations({ description: "A UTC day. Only in usage by day." })),
  key: optional(
    Schema.NullOr(Schema.Struct({ id: Schema.String, label: Schema.NullOr(Schema.String) })),
  ).annotations({
    description: "The API key. Only in usage by key. Null for requests that named no key.",
  }),
  checks: Count.annotations({ description: "Successful checks: `known` and `bought` together." }),
  credits: Count.annotations({ description: "Charged credits." }),
  known: Count.annotations({ description: "Checks that were answered from the cache." }),
  bought: Count.annotations({ description: "Checks that were bought from a provider." }),
  failed: Schema.Struct({
    INVALID_URL: Count,
    PROVIDER_ERROR: Count,
    SERVER_ERROR: Count,
  }).annotations({ description: "Failed checks by reason." }),
}).annotations({
  identifier: "UsageRow",
  description: "What requests used on one day, or with one API key.",
  examples: [{ day: "2026-11-24", ...used }],
})

export const UsageResponse = data({
  account: Schema.String.annotations({ description: "The name of the account." }),
  rows: Schema.Array(UsageRow).annotations({
    description: `Days from old to new, or keys from most to fewest credits. At most ${Limits.maxRows}: the newest days, or the keys with most credits.`,
  }),
}).annotations({
  identifier: "UsageResponse",
  description: "The usage of the account.",
  examples: [{ success: true, data: { account: "acme", rows: [{ day: "2026-11-24", ...used }] } }],
})

const budgetExample = {
  credits: 500,
  period: "day" as const,
  used: 120,
  remaining: 380,
  resetsAt: "2026-11-21T00:00:00.000Z",
}

export const Budget = Schema.Struct({
  credits: Count,
  period: Period,
  used: Count.annotations({ description: "Credits that are charged or held in this period." }),
  remaining: Count,
  resetsAt: Schema.NullOr(Time).annotations({
    description: "The end of the period (UTC); null for a budget in all.",
  }),
}).annotations({
  identifier: "Budget",
  description: "What the key may spend in a period.",
  examples: [budgetExample],
})

const keyExample = {
  id: "01936f2e-7c1a-7b3e-9d52-3f0c5a1e8b47",
  label: "rank tracker",
  account: "acme",
  scopes: Scope.literals,
  expiresAt: null,
  budget: budgetExample,
}

export const KeyResponse = data({
  id: Schema.String,
  label: Schema.NullOr(Schema.String),
  account: Schema.String.annotations({ description: "The name of the account." }),
  scopes: Schema.Array(Scope).annotations({
    description: "`check` sends batches, `read` everything else.",
  }),
  expiresAt: Schema.NullOr(Time).annotations({ description: "Null: the key does not expire." }),
  budget: Schema.NullOr(Budget).annotations({
    description: "Null: only the balance of the account limits the key.",
  }),
}).annotations({
  identifier: "KeyResponse",
  description: "The API key of the request.",
  examples: [{ success: true, data: keyExample }],
})

/** Authenticates a request before its body is decoded. Fails with 401, 403, 429 or 503. */
export class Authorization extends HttpApiMiddleware.Tag<Authorization>()("Authorization", {
  failure: Schema.Union(
    Envelope.Unauthorized.body,
    Envelope.Forbidden.body,
    Envelope.TooManyRequests.body,
    Envelope.ServiceUnavailable.body,
  ),
  provides: CurrentKey,
  security: {
    apiKey: HttpApiSecurity.apiKey({ in: "header", key: "x-api-key" }).pipe(
      HttpApiSecurity.annotate(OpenApi.Description, "An API key from the operator."),
    ),
  },
}) {}

const preview = HttpApiEndpoint.post("previewBatch", Wire.previewPath)
  .setHeaders(Schema.Struct({ "cache-control": maxAge }))
  .setPayload(BatchRequest)
  .addSuccess(PreviewResponse)
  .addError(Envelope.InvalidRequest.body)
  .addError(Envelope.PayloadTooLarge.body)
  .addError(Envelope.TooManyRequests.body)
  .annotate(OpenApi.Summary, "What a batch would do and cost, free of charge")
  .annotate(
    OpenApi.Description,
    "Says of each URL whether it can be checked, whether it is a duplicate, and whether its figures " +
      "are known. Asks no provider, holds no credits and charges nothing.",
  )

const listLimit =
  `History and usage together take ${Limits.maxListsPerSecond} requests a second of an account; ` +
  "further requests get 429."

const history = HttpApiEndpoint.get("history", Wire.historyPath)
  .setUrlParams(
    Schema.Struct({
      url: optional(
        Schema.String.annotations({
          description: "A domain or a URL. Required.",
          examples: ["Example.com"],
        }),
      ),
      limit: Parameter.limit("observations"),
    }),
  )
  .addSuccess(HistoryResponse)
  .addError(Envelope.InvalidRequest.body)
  .addError(Envelope.TooManyRequests.body)
  .annotate(OpenApi.Summary, "The figures of a URL over time, free of charge")
  .annotate(
    OpenApi.Description,
    "The figures that the service bought for any account, as the list stood one cache lifetime " +
      "(usually 24 hours) ago. Figures that were bought again unchanged are one observation. " +
      `Figures of another provider, or of another index, are another observation. ${listLimit}`,
  )

const metrics = HttpApiGroup.make("metrics", { topLevel: true })
  .annotate(OpenApi.Description, "The authority of domains and pages.")
  .add(
    HttpApiEndpoint.post("checkBatch", Wire.batchPath)
      .setHeaders(BatchHeaders)
      .setPayload(BatchRequest)
      .addSuccess(BatchResponse)
      .addError(Envelope.InvalidRequest.body)
      .addError(Envelope.PaymentRequired.body)
      .addError(Envelope.Conflict.body)
      .addError(Envelope.PayloadTooLarge.body)
      .addError(Envelope.UnprocessableContent.body)
      .addError(Envelope.TooManyRequests.body)
      .annotate(OpenApi.Summary, `Check the authority of 1 to ${Limits.maxUrls} domains or URLs`)
      .annotate(
        OpenApi.Description,
        "Each URL is checked separately. It appears as it was submitted, either in `successUrls` " +
          "or in `failedUrls`. Both lists keep the order of the request. Only successes are " +
          "charged.",
      ),
  )
  .add(preview)
  .add(history)

const usage = HttpApiEndpoint.get("usage", Wire.usagePath)
  .setUrlParams(
    Schema.Struct({
      since: Parameter.time(
        "The first UTC day, such as 2026-11-01, or a time within it. Default: the first day with usage.",
        "2026-11-01",
      ),
      until: Parameter.time(
        "The end of the period, exclusive: 2026-12-01 ends it with November 30. A day that the period touches counts as a whole. Default: now.",
        "2026-12-01",
      ),
      by: Schema.optionalWith(
        Schema.Literal("day", "key").annotations({
          message: () => ({ message: "Expected day or key", override: true }),
          description: "What a row sums up; by default `day`.",
        }),
        { exact: true, default: () => "day" as const },
      ),
    }),
  )
  .addSuccess(UsageResponse)
  .addError(Envelope.InvalidRequest.body)
  .addError(Envelope.TooManyRequests.body)
  .annotate(OpenApi.Summary, "What the account has used, by UTC day or by API key")
  .annotate(
    OpenApi.Description,
    "Counts the requests that held credits: a batch of only invalid URLs, a refused request and a " +
      "repeat that gets a stored answer are not counted. Usage is counted since the service was " +
      `updated to the version that counts it. ${listLimit}`,
  )

const quota = HttpApiGroup.make("quota", { topLevel: true })
  .annotate(OpenApi.Description, "The account that owns the API key.")
  .add(
    HttpApiEndpoint.get("availableCredits", Wire.creditsPath)
      .addSuccess(CreditsResponse)
      .annotate(OpenApi.Summary, "The credits that the account can still spend")
      .annotate(
        OpenApi.Description,
        "Granted credits, minus charged credits and the credits held by requests in progress.",
      ),
  )
  .add(
    HttpApiEndpoint.get("key", Wire.keyPath)
      .addSuccess(KeyResponse)
      .annotate(OpenApi.Summary, "The API key of the request")
      .annotate(
        OpenApi.Description,
        "What the key may do, what is left of its budget, and when it expires. What the operator changes shows within 5 seconds, a budget at once.",
      ),
  )
  .add(usage)

export class Api extends HttpApi.make("authority-metrics")
  .add(metrics)
  .add(quota)
  .addError(Envelope.InternalServerError.body)
  .addError(Envelope.ServiceUnavailable.body)
  .middleware(Authorization)
  .annotate(OpenApi.Title, "Authority metrics")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.License, { name: "MIT", url: "https://opensource.org/license/mit" })
  .annotate(OpenApi.Servers, [{ url: "/", description: "The service that serves this document." }])
  .annotate(OpenApi.Transform, OpenApiDocument.complete)
  .annotate(
    OpenApi.Description,
    "How authoritative are these domains and pages? Figures from 0 to 100, paid in credits.\n\n" +
      'Every error body is `{"success": false, "message": "…"}`. The body of a 400 also has the ' +
      "field `error`, unless the request was not valid HTTP. Requests outside this document get " +
      "error bodies of the same form: 404 for an unknown path, 405 for a method that the path " +
      "does not support, 415 for a body with a Content-Encoding.",
  ) {}
