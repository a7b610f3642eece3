/**
 * The JSON protocol between this service and an endpoint that the operator runs. The endpoint can be
 * written in any programming language. A test writes `scripts/http-provider/openapi.json` from this
 * declaration.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Metrics, Score } from "../Metrics.ts"

/** Maximum number of targets in one call. */
export const batchSize = 50

const url = Schema.String.annotations({ description: "The `url` of the target, as it was sent." })

const AskedTarget = Schema.Struct({
  url: Schema.String.annotations({
    description: "The page in canonical form, always with https. Identifies the target.",
  }),
  host: Schema.String.annotations({ description: "The host of the page, in ASCII." }),
  domain: Schema.String.annotations({
    description: "The registered domain of the host, by the Public Suffix List.",
  }),
})

export const Question = Schema.Struct({
  targets: Schema.Array(AskedTarget)
    .pipe(Schema.maxItems(batchSize))
    .annotations({
      description:
        `At most ${batchSize} targets without duplicates. ` +
        "`authority doctor` sends an empty list, to check the address and the token.",
    }),
}).annotations({
  identifier: "Question",
  description: "The targets that the service needs figures for.",
  examples: [
    {
      targets: [
        {
          url: "https://www.example.co.uk/a?b",
          host: "www.example.co.uk",
          domain: "example.co.uk",
        },
      ],
    },
  ],
})
export type Question = typeof Question.Type

/** Many languages encode an absent field as null, so null means absent. */
const spamScore = Schema.optionalWith(Schema.NullOr(Score), { exact: true }).annotations({
  description:
    "How much the domain resembles spam, from 0 to 100. Null or absent when the provider has no score.",
})

export const Figures = Schema.Struct({ url, ...Metrics.fields, spamScore }).annotations({
  identifier: "Figures",
  description: "The figures of one target.",
  examples: [{ url: "https://example.com/", domainAuthority: 91, pageAuthority: 74.5 }],
})

export const Failure = Schema.Struct({
  url,
  error: Schema.String.annotations({
    description: "One sentence for the operator's log. Clients do not see it.",
  }),
}).annotations({
  identifier: "Failure",
  description: "The reason why one target has no figures.",
  examples: [{ url: "https://example.com/", error: "the domain is not in the index" }],
})

const Answer = Schema.Struct({
  results: Schema.Array(Schema.Union(Figures, Failure)).annotations({
    description:
      "One result for each target, in any order. A target without a result counts as failed.",
  }),
}).annotations({
  identifier: "Answer",
  description: "The figures of each target, or the reason why the target has no figures.",
  examples: [
    {
      results: [
        { url: "https://example.com/", domainAuthority: 91, pageAuthority: 74.5, spamScore: 1 },
        { url: "https://www.example.org/a", error: "the page is not in the index" },
      ],
    },
  ],
})

const refusal = (status: number, description: string) =>
  Schema.Struct({
    message: Schema.String.annotations({ description: "One sentence for the operator's log." }),
  }).annotations(HttpApiSchema.annotations({ status, description }))

class Token extends HttpApiMiddleware.Tag<Token>()("Token", {
  security: {
    token: HttpApiSecurity.bearer.pipe(
      HttpApiSecurity.annotate(OpenApi.Description, "The value of AUTHORITY_HTTP_TOKEN."),
    ),
  },
}) {}

/** The provider's endpoint. The operator chooses the path: AUTHORITY_HTTP_URL is the whole URL. */
export class HttpProviderProtocol extends HttpApi.make("provider")
  .add(
    HttpApiGroup.make("provider", { topLevel: true })
      .annotate(OpenApi.Description, "The call that the service makes to a provider.")
      .add(
        HttpApiEndpoint.post("lookup", "/")
          .setPayload(Question)
          .addSuccess(Answer)
          .addError(refusal(401, "The token is wrong. The service does not repeat the call."))
          .addError(
            refusal(
              402,
              "The quota of the subscription is used up. The service does not repeat the call.",
            ),
          )
          .addError(
            refusal(429, "Too many calls. The header `Retry-After` says how many seconds to wait."),
          )
          .addError(
            refusal(
              503,
              "A temporary failure. The service repeats the call. If the answer has the header `Retry-After`, the service first waits that number of seconds.",
            ),
          )
          .annotate(OpenApi.Summary, `The figures of up to ${batchSize} targets`)
          .annotate(
            OpenApi.Description,
            "Each target gets one result, either figures or an error. The service matches results and " +
              "targets by `url`. When a figure is not from 0 to 100, only its own target fails.",
          ),
      ),
  )
  .middleware(Token)
  .annotate(OpenApi.Title, "A provider for authority-metrics")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.License, { name: "MIT", url: "https://opensource.org/license/mit" })
  .annotate(OpenApi.Servers, [
    { url: "http://127.0.0.1:9090", description: "The value of AUTHORITY_HTTP_URL." },
  ])
  .annotate(
    OpenApi.Description,
    "With AUTHORITY_PROVIDER=http, the service asks this endpoint for figures. The service " +
      "ignores unknown fields. It repeats a call up to three times after the status 408, 429 or " +
      "5xx, and does not repeat a call after any other status. After five failed calls in a row, " +
      "the service makes no calls for 15 seconds.",
  ) {}
