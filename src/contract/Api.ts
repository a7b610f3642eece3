/**
 * The contract of the HTTP interface, without its implementation. The request decoders, the
 * response encoders, the OpenAPI document and the typed client are derived from it.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { CurrentKey } from "../accounts/ApiKeys.ts"
import { Period } from "../ledger/budgets/Budget.ts"
import * as LedgerEntry from "../ledger/LedgerEntry.ts"
import { Explanation, FailureReason, Metrics, Provenance } from "../check/Metrics.ts"
import { Scope } from "../accounts/Scope.ts"
import * as Envelope from "./Envelope.ts"
import {
  account,
  answer,
  Count,
  count,
  data,
  flag,
  int,
  list,
  named,
  optional,
  orNull,
  text,
  textOrNull,
  Time,
} from "./fields.ts"
import * as Limits from "./Limits.ts"
import * as OpenApiDocument from "./OpenApiDocument.ts"
import * as Parameter from "./Parameter.ts"
import * as Wire from "./Wire.ts"

export const SubmittedUrl = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(Limits.maxUrlLength),
).annotations({
  description: `A domain or a URL of 1 to ${Limits.maxUrlLength} UTF-16 code units, as counted by JavaScript's length.`,
})

const request = { urls: ["example.com", "https://www.example.org/page", "localhost"] }

export const BatchRequest = named("BatchRequest", "The domains or URLs to check.", [request], {
  // Keep `maxItems` before `minItems`: when a list has invalid items, the decoder checks only the
  // first of the two. A list that violates `minItems` is empty and has no invalid items.
  urls: Schema.Array(SubmittedUrl)
    .pipe(Schema.maxItems(Limits.maxUrls), Schema.minItems(1))
    .annotations({
      description: `1 to ${Limits.maxUrls} domains or URLs. Each URL is a separate check.`,
    }),
})

const PreviewHeaders = Schema.Struct({
  "cache-control": Parameter.maxAgeMs(
    "With `max-age=SECONDS`, figures that are older are bought anew. The operator may set a " +
      "least age. Other values are ignored.",
    "max-age=86400",
  ),
})

export const BatchHeaders = Schema.Struct({
  "idempotency-key": Parameter.idempotencyKey(
    "A unique name for this request: 1 to 255 characters in quotes. Within 24 hours, a repeat with " +
      "the same key and the same body gets the stored answer, without a second charge and with the " +
      "header `idempotent-replayed: true`.",
    '"9f0e6c1a-list-7"',
  ),
  "x-max-credits": Parameter.maxCredits(
    "The most that this request may cost, as a whole number of credits. When the price of all " +
      "valid URLs is higher, the answer is 402 and nothing is charged. A repeat with the same " +
      "`Idempotency-Key` gets the stored answer whatever the limit.",
    "20",
  ),
  ...PreviewHeaders.fields,
  prefer: Parameter.provenance(
    "With `provenance`, each success also has `provenance`, and each failure `cause` and " +
      "`detail`. A repeat with the same `Idempotency-Key` needs the same preference.",
    "provenance",
  ),
})

const url = text("The URL as it was submitted.")

const checked = { url: "example.com", domainAuthority: 91, pageAuthority: 74.5, spamScore: 1 }

const Success = named("CheckedUrl", "A checked URL and its figures.", [checked], {
  url,
  ...Metrics.fields,
  provenance: optional(Provenance),
})

const failed = { url: "localhost", reason: "INVALID_URL" } as const

const Failure = named("FailedUrl", "A URL that could not be checked, and the reason.", [failed], {
  url,
  reason: FailureReason,
  cause: optional(Explanation.fields.cause),
  detail: optional(Explanation.fields.detail),
})

const batch = {
  success: true,
  data: {
    successUrls: [
      checked,
      { url: "https://www.example.org/page", domainAuthority: 62, pageAuthority: 40 },
    ],
    failedUrls: [failed],
  },
  quota: { creditsUsed: 2 },
} as const

export const BatchResponse = named("BatchResponse", "The result for each URL.", [batch], {
  ...data({ successUrls: Schema.Array(Success), failedUrls: Schema.Array(Failure) }).fields,
  quota: Schema.Struct({ creditsUsed: count("Only successful checks are charged.") }),
})

const valid = { valid: true, duplicateOf: null, known: true } as const
const validEntry = { ...valid, url: "Example.com", target: "example.com/" }

const ValidEntry = named("ValidEntry", "A URL that can be checked.", [validEntry], {
  url,
  valid: Schema.Literal(true),
  target: text("Host, path and query of the URL in canonical form. URLs with one target are one."),
  duplicateOf: Schema.NullOr(Count).annotations({
    description: "The index of the first URL with the same target; null for that first URL.",
  }),
  known: flag("True when the service has the figures and asks no provider."),
})

const problem = "its host is not under a public domain ending"
const invalidEntry = { url: "localhost", valid: false, problem } as const

const InvalidEntry = named("InvalidEntry", "A URL that cannot be checked.", [invalidEntry], {
  url,
  valid: Schema.Literal(false),
  problem: text("Why the URL cannot be checked."),
})

const page = "www.example.org/page"

const preview = {
  success: true,
  data: {
    entries: [
      { ...validEntry, url: "example.com" },
      { ...valid, url: `https://${page}`, target: page, known: false },
      invalidEntry,
    ],
    summary: { total: 3, valid: 2, invalid: 1, duplicates: 0, known: 1, toBuy: 1 },
  },
  quota: { maxCredits: 2, availableCredits: 998, affordable: true },
} as const

export const PreviewResponse = named(
  "PreviewResponse",
  "What a batch would do and cost.",
  [preview],
  {
    ...data({
      entries: list(Schema.Union(ValidEntry, InvalidEntry), "One entry for each URL, in order."),
      summary: Schema.Struct({
        total: Count,
        valid: Count,
        invalid: Count,
        duplicates: Count,
        known: Count,
        toBuy: count("Distinct targets that a provider would be asked for."),
      }).annotations({
        description:
          "`valid` and `invalid` add up to `total`. `known` and `toBuy` add up to `valid` without `duplicates`.",
      }),
    }).fields,
    quota: Schema.Struct({
      maxCredits: count("The price of the batch when every valid URL is checked successfully."),
      availableCredits: count("What the account can still spend."),
      affordable: flag(
        "True when `availableCredits` and the budget of the API key cover `maxCredits`.",
      ),
    }),
  },
)

const observed = {
  fetchedAt: "2026-09-03T10:00:00.000Z",
  lastFetchedAt: "2026-11-20T10:00:00.000Z",
  provider: "moz",
  index: null,
  domainAuthority: 91,
  pageAuthority: 74.5,
  spamScore: 1,
}

const Observation = named(
  "Observation",
  "Figures that a provider gave. They were the same from `fetchedAt` to `lastFetchedAt`.",
  [observed],
  {
    fetchedAt: Time,
    lastFetchedAt: Time,
    provider: Schema.String,
    index: textOrNull("The provider's name or date of its index; null when it names none."),
    ...Metrics.fields,
  },
)

const observedUrl = { url: "Example.com", target: "example.com/", observations: [observed] }

export const HistoryResponse = answer(
  "HistoryResponse",
  "The figures of a URL over time.",
  observedUrl,
  {
    url,
    target: text("Host, path and query of the URL in canonical form."),
    observations: list(Observation, "Newest first."),
  },
)

export const CreditsResponse = answer(
  "CreditsResponse",
  "The credits that the account can still spend.",
  { availableCredits: 998 },
  { availableCredits: count("Granted credits minus charged credits and held credits.") },
)

const used = {
  day: "2026-11-24",
  checks: 42,
  credits: 42,
  known: 30,
  bought: 12,
  failed: { INVALID_URL: 2, PROVIDER_ERROR: 1, SERVER_ERROR: 0 },
}

export const UsageRow = named(
  "UsageRow",
  "What requests used on one day, or with one API key.",
  [used],
  {
    day: optional(text("A UTC day. Only in usage by day.")),
    key: optional(
      Schema.NullOr(Schema.Struct({ id: Schema.String, label: Schema.NullOr(Schema.String) })),
    ).annotations({
      description: "The API key. Only in usage by key. Null for requests that named no key.",
    }),
    checks: count("Successful checks: `known` and `bought` together."),
    credits: count("Charged credits."),
    known: count("Checks that were answered from the cache."),
    bought: count("Checks that were bought from a provider."),
    failed: Schema.Struct({
      INVALID_URL: Count,
      PROVIDER_ERROR: Count,
      SERVER_ERROR: Count,
    }).annotations({ description: "Failed checks by reason." }),
  },
)

const usedBy = { account: "acme", rows: [used] }

export const UsageResponse = answer("UsageResponse", "The usage of the account.", usedBy, {
  account,
  rows: list(
    UsageRow,
    `Days from old to new, or keys from most to fewest credits. At most ${Limits.maxRows}: the newest days, or the keys with most credits.`,
  ),
})

const entry = {
  sequence: 7,
  at: "2026-11-24T10:00:00.000Z",
  kind: "charge",
  amount: -42,
  balanceAfter: 958,
  urls: 42,
  requestId: "01936f2e-7c1a-7b3e-9d52-3f0c5a1e8b48",
  key: "01936f2e-7c1a-7b3e-9d52-3f0c5a1e8b47",
} as const

export const StatementEntry = named("StatementEntry", "An entry of the ledger.", [entry], {
  sequence: int("The number of the entry within the account: from 1, without gaps."),
  at: Time,
  kind: LedgerEntry.StatementEntry.fields.kind,
  amount: int("Credits; negative for a charge and for a correction."),
  balanceAfter: count("The balance after this entry, without the credits that are held."),
  urls: orNull(Count, "The number of charged checks; null for a grant or a correction."),
  requestId: textOrNull("The `x-request-id` of the charged request."),
  key: textOrNull("The id of the charged key."),
})

const stated = { account: "acme", entries: [entry] }

export const StatementResponse = answer(
  "StatementResponse",
  "The entries of the account.",
  stated,
  { account, entries: list(StatementEntry, "Newest first.") },
)

const budget = {
  credits: 500,
  period: "day",
  used: 120,
  remaining: 380,
  resetsAt: "2026-11-21T00:00:00.000Z",
} as const

export const Budget = named("Budget", "What the key may spend in a period.", [budget], {
  credits: Count,
  period: Period,
  used: count("Credits that are charged or held in this period."),
  remaining: Count,
  resetsAt: orNull(Time, "The end of the period (UTC); null for a budget in all."),
})

const describedKey = {
  id: "01936f2e-7c1a-7b3e-9d52-3f0c5a1e8b47",
  label: "rank tracker",
  account: "acme",
  scopes: Scope.literals,
  expiresAt: null,
  budget,
}

export const KeyResponse = answer("KeyResponse", "The API key of the request.", describedKey, {
  id: Schema.String,
  label: Schema.NullOr(Schema.String),
  account,
  scopes: list(Scope, "`check` sends batches, `read` everything else."),
  expiresAt: orNull(Time, "Null: the key does not expire."),
  budget: orNull(Budget, "Null: only the balance of the account limits the key."),
})

/** Authenticates a request before its body is decoded. Fails with 401, 403, 429 or 503. */
export class Authorization extends HttpApiMiddleware.Tag<Authorization>()("Authorization", {
  failure: Envelope.of(401, 403, 429, 503),
  provides: CurrentKey,
  security: {
    apiKey: HttpApiSecurity.apiKey({ in: "header", key: "x-api-key" }).pipe(
      HttpApiSecurity.annotate(OpenApi.Description, "An API key from the operator."),
    ),
  },
}) {}

const listLimit =
  `History, usage and statement together take ${Limits.maxListsPerSecond} requests a second of an account; ` +
  "further requests get 429."

const metrics = HttpApiGroup.make("metrics", { topLevel: true })
  .annotate(OpenApi.Description, "The authority of domains and pages.")
  .add(
    HttpApiEndpoint.post("checkBatch", Wire.batchPath)
      .setHeaders(BatchHeaders)
      .setPayload(BatchRequest)
      .addSuccess(BatchResponse)
      .addError(Envelope.of(400, 402, 409, 413, 422, 429))
      .annotate(OpenApi.Summary, `Check the authority of 1 to ${Limits.maxUrls} domains or URLs`)
      .annotate(
        OpenApi.Description,
        "Each URL is checked separately. It appears as it was submitted, either in `successUrls` " +
          "or in `failedUrls`. Both lists keep the order of the request. Only successes are " +
          "charged.",
      ),
  )
  .add(
    HttpApiEndpoint.post("previewBatch", Wire.previewPath)
      .setHeaders(PreviewHeaders)
      .setPayload(BatchRequest)
      .addSuccess(PreviewResponse)
      .addError(Envelope.of(400, 413, 429))
      .annotate(OpenApi.Summary, "What a batch would do and cost, free of charge")
      .annotate(
        OpenApi.Description,
        "Says of each URL whether it can be checked, whether it is a duplicate, and whether its " +
          "figures are known. Asks no provider, holds no credits and charges nothing.",
      ),
  )
  .add(
    HttpApiEndpoint.get("history", Wire.historyPath)
      .setUrlParams(
        Schema.Struct({
          url: optional(
            text("A domain or a URL. Required.").annotations({ examples: ["Example.com"] }),
          ),
          limit: Parameter.limit("observations"),
        }),
      )
      .addSuccess(HistoryResponse)
      .addError(Envelope.of(400, 429))
      .annotate(OpenApi.Summary, "The figures of a URL over time, free of charge")
      .annotate(
        OpenApi.Description,
        "The figures that the service bought for any account, as the list stood one cache lifetime " +
          "(usually 24 hours) ago. Figures that were bought again unchanged are one observation. " +
          `Figures of another provider, or of another index, are another observation. ${listLimit}`,
      ),
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
  .add(
    HttpApiEndpoint.get("usage", Wire.usagePath)
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
          by: Parameter.oneOf(["day", "key"], {
            message: "Expected day or key",
            description: "What a row sums up; by default `day`.",
          }),
        }),
      )
      .addSuccess(UsageResponse)
      .addError(Envelope.of(400, 429))
      .annotate(OpenApi.Summary, "What the account has used, by UTC day or by API key")
      .annotate(
        OpenApi.Description,
        "Counts the requests that held credits: a batch of only invalid URLs, a refused request and a " +
          "repeat that gets a stored answer are not counted. Usage is counted since the service was " +
          `updated to the version that counts it. ${listLimit}`,
      ),
  )
  .add(
    HttpApiEndpoint.get("statement", Wire.statementPath)
      .setUrlParams(Schema.Struct({ limit: Parameter.limit("entries"), before: Parameter.before }))
      .addSuccess(StatementResponse)
      .addError(Envelope.of(400, 429))
      .annotate(OpenApi.Summary, "The grants, charges and corrections of the account")
      .annotate(OpenApi.Description, `Newest first. ${listLimit}`),
  )

export class Api extends HttpApi.make("authority-metrics")
  .add(metrics)
  .add(quota)
  .addError(Envelope.of(500, 503))
  .middleware(Authorization)
  .annotateContext(OpenApiDocument.about("Authority metrics"))
  .annotate(OpenApi.License, { name: "MIT", url: "https://opensource.org/license/mit" })
  .annotate(
    OpenApi.Description,
    "How authoritative are these domains and pages? Figures from 0 to 100, paid in credits.\n\n" +
      'Every error body is `{"success": false, "message": "…"}`. The body of a 400 also has the ' +
      "field `error`, unless the request was not valid HTTP. Requests outside this document get " +
      "error bodies of the same form: 404 for an unknown path, 405 for a method that the path " +
      "does not support, 415 for a body with a Content-Encoding.",
  ) {}
