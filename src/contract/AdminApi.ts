/**
 * The interface of the administration, without its implementation. Fields have the names of the
 * verbs' JSON documents.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { AccountName } from "../Account.ts"
import { Credits } from "../ledger/Credits.ts"
import { HistoryResponse } from "./Api.ts"
import * as Envelope from "./Envelope.ts"
import * as OpenApiDocument from "./OpenApiDocument.ts"
import * as Parameter from "./Parameter.ts"
import * as Wire from "./Wire.ts"

const data = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct({ success: Schema.Literal(true), data: Schema.Struct(fields) })

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * A body. A field that the operator misspelled must not be ignored: a key without its budget would
 * be the result.
 */
const body = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).annotations({ parseOptions: { onExcessProperty: "error" } })

export const Account = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  available: Credits,
  held: Credits,
  granted: Credits,
  charged: Credits,
}).annotations({ identifier: "Account", description: "An account and its credits." })

const nameParam = Schema.Struct({
  name: Schema.String.annotations({ description: "The name or the id of an account." }),
})

const accounts = HttpApiGroup.make("accounts", { topLevel: true })
  .annotate(OpenApi.Description, "The accounts and their credits.")
  .add(
    HttpApiEndpoint.post("createAccount", Wire.adminPaths.accounts)
      .setPayload(body({ name: AccountName, credits: optional(Credits) }))
      .addSuccess(
        data({
          account: Schema.Struct({ id: Schema.String, name: Schema.String }),
          credits: Credits,
        }),
        { status: 201 },
      )
      .addError(Envelope.Contradiction.body)
      .annotate(OpenApi.Summary, "Create an account"),
  )
  .add(
    HttpApiEndpoint.get("account", `${Wire.adminPaths.accounts}/:name`)
      .setPath(nameParam)
      .addSuccess(data({ account: Account }))
      .addError(Envelope.NotFound.body)
      .annotate(OpenApi.Summary, "An account and its credits"),
  )

const history = HttpApiEndpoint.get("adminHistory", Wire.adminPaths.history)
  .setUrlParams(
    Schema.Struct({
      url: optional(Schema.String.annotations({ description: "A domain or a URL. Required." })),
      limit: Parameter.limit("observations"),
    }),
  )
  .addSuccess(HistoryResponse)
  .annotate(OpenApi.Summary, "The figures of a URL over time")

const figures = HttpApiGroup.make("figures", { topLevel: true })
  .annotate(OpenApi.Description, "The figures that the service bought.")
  .add(history)

const document = HttpApiGroup.make("document", { topLevel: true })
  .annotate(OpenApi.Description, "This document.")
  .add(
    HttpApiEndpoint.get("adminDocument", Wire.adminPaths.openApi)
      .addSuccess(Schema.Unknown)
      .annotate(OpenApi.Summary, "This document"),
  )

const Time = Schema.String.annotations({ description: "An ISO 8601 time." })

export const ProviderState = Schema.Struct({
  provider: Schema.String,
  circuit: Schema.Literal("closed", "open", "exhausted").annotations({
    description: "While it is open, the provider is not asked. Exhausted: its quota is used up.",
  }),
  reason: Schema.NullOr(Schema.String).annotations({ description: "Why the circuit is open." }),
  callsInFlight: Schema.NullOr(Schema.Number),
  callLimit: Schema.NullOr(Schema.Number),
  latencyMs: Schema.NullOr(Schema.Number).annotations({
    description: "The average of the latest calls.",
  }),
  errors: Schema.Array(
    Schema.Struct({ at: Time, reason: Schema.String, message: Schema.String }),
  ).annotations({ description: "The last ten failed calls, newest first." }),
  quota: Schema.NullOr(
    Schema.Struct({
      unit: Schema.String,
      allotted: Schema.Number,
      left: Schema.Number,
      resetsAt: Schema.NullOr(Time),
    }),
  ),
  index: Schema.NullOr(Schema.String).annotations({
    description: "The vendor's name or date of its index now.",
  }),
  statusError: Schema.NullOr(Schema.String).annotations({
    description: "Why the vendor did not report its state.",
  }),
}).annotations({ identifier: "ProviderState", description: "A provider, as this process sees it." })

const provider = HttpApiGroup.make("provider", { topLevel: true })
  .annotate(OpenApi.Description, "The providers of figures.")
  .add(
    HttpApiEndpoint.get("providerStatus", Wire.adminPaths.providerStatus)
      .addSuccess(data({ providers: Schema.Array(ProviderState) }))
      .annotate(OpenApi.Summary, "The providers, as the process that answers sees them"),
  )

/** Checks the token before a request is decoded. */
export class Administrator extends HttpApiMiddleware.Tag<Administrator>()("Administrator", {
  failure: Schema.Union(Envelope.Unauthorized.body, Envelope.TooManyRequests.body),
  security: {
    token: HttpApiSecurity.bearer.pipe(
      HttpApiSecurity.annotate(OpenApi.Description, "The token in AUTHORITY_ADMIN_TOKEN."),
    ),
  },
}) {}

export class AdminApi extends HttpApi.make("authority-metrics-administration")
  .add(accounts)
  .add(figures)
  .add(provider)
  .add(document)
  .addError(Envelope.InvalidRequest.body)
  .addError(Envelope.PayloadTooLarge.body)
  .addError(Envelope.InternalServerError.body)
  .addError(Envelope.ServiceUnavailable.body)
  .middleware(Administrator)
  .annotate(OpenApi.Title, "Administration of authority metrics")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.Servers, [{ url: "/", description: "The service that serves this document." }])
  .annotate(OpenApi.Transform, OpenApiDocument.complete)
  .annotate(
    OpenApi.Description,
    "Accounts, keys and credits, as the command line has them. Every answer is JSON with `success`; " +
      "lists are under `data`. Every change is a line of the audit log.",
  ) {}
