/**
 * The interface of the administration, without its implementation. Fields are named as in the JSON
 * documents of the command line.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { AccountName } from "../accounts/Account.ts"
import { ApiKeyId } from "../accounts/ApiKey.ts"
import { Detail } from "../accounts/AuditLog.ts"
import { Budget as BudgetText } from "../ledger/budgets/Budget.ts"
import { Credits } from "../ledger/Credits.ts"
import { Scope, Scopes } from "../accounts/Scope.ts"
import { Lifetime, TimeSpan } from "../accounts/TimeSpan.ts"
import { Budget, HistoryResponse, StatementEntry, UsageRow } from "./Api.ts"
import * as Envelope from "./Envelope.ts"
import {
  account,
  count,
  data,
  flag,
  int,
  list,
  named,
  optional,
  orNull,
  ShortText,
  ShortTextOrNull,
  StoredText,
  text,
  textOrNull,
  Time,
} from "./fields.ts"
import * as OpenApiDocument from "./OpenApiDocument.ts"
import * as Parameter from "./Parameter.ts"
import * as Wire from "./Wire.ts"

/**
 * A request body. Refuses unknown fields, because a misspelled one could, for example, create a key
 * without its budget.
 */
const body = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).annotations({ parseOptions: { onExcessProperty: "error" } })

const Funds = { available: Credits, held: Credits, granted: Credits, charged: Credits }

const Account = named("Account", "An account and its credits.", [], {
  id: Schema.String,
  name: Schema.String,
  suspended: flag("True when every request gets 403."),
  ...Funds,
})

const Key = named("Key", "An API key, without its secret.", [], {
  id: Schema.String,
  account,
  start: text("The first characters of the key."),
  label: Schema.NullOr(Schema.String),
  state: Schema.Literal("active", "expired", "revoked"),
  scopes: Schema.Array(Scope),
  budget: Schema.NullOr(Budget),
  createdAt: Time,
  expiresAt: Schema.NullOr(Time),
  revokedAt: Schema.NullOr(Time),
  lastUsedAt: Schema.NullOr(Time),
})

const NewKey = data({
  key: textOrNull(
    "The secret, which is shown once. Null in the answer to a repeat with the same Idempotency-Key.",
  ),
  id: Schema.String,
  account,
  expiresAt: Schema.NullOr(Time),
  scopes: Schema.Array(Scope),
  budget: textOrNull("Such as `500/day`."),
})

const Entry = named("Entry", "An entry of the ledger.", [], {
  ...StatementEntry.fields,
  note: textOrNull("The operator's note."),
})

const nameParam = Schema.Struct({
  name: StoredText.annotations({ description: "The name or the id of an account." }),
})
const idParam = Schema.Struct({ id: Schema.compose(StoredText, ApiKeyId) })

const ActHeaders = Schema.Struct({
  "idempotency-key": Parameter.idempotencyKey(
    "A unique name for this act: 1 to 255 characters in quotes. A repeat with the same key and the " +
      "same body does nothing again. Its answer is a 200 with the header " +
      "`idempotent-replayed: true`.",
    '"grant-2026-11"',
  ),
})

const Page = Schema.Struct({
  limit: Parameter.limit("rows"),
  before: optional(
    Schema.UUID.annotations({
      description: "The id of the last row of the page before.",
      message: () => "Expected the id of the last row of the page before",
    }),
  ),
})

const only = (description: string) => optional(StoredText.annotations({ description }))

const Search = Schema.Struct({
  search: only("A part of a name or a label, or the start of a key."),
  ...Page.fields,
})

const NewAccount = data({
  account: Schema.Struct({ id: Schema.String, name: Schema.String }),
  credits: Credits,
})

const accounts = HttpApiGroup.make("accounts", { topLevel: true })
  .annotate(OpenApi.Description, "The accounts and their credits.")
  .add(
    HttpApiEndpoint.get("accounts", Wire.adminPaths.accounts)
      .setUrlParams(Search)
      .addSuccess(data({ accounts: Schema.Array(Account) }))
      .annotate(OpenApi.Summary, "The accounts, newest first"),
  )
  .add(
    HttpApiEndpoint.post("createAccount", Wire.adminPaths.accounts)
      .setHeaders(ActHeaders)
      .setPayload(body({ name: AccountName, credits: optional(Credits) }))
      .addSuccess(NewAccount, { status: 201 })
      .addSuccess(NewAccount)
      .addError(Envelope.Contradiction.body)
      .addError(Envelope.of(404, 422))
      .annotate(OpenApi.Summary, "Create an account"),
  )
  .add(
    HttpApiEndpoint.get("account", `${Wire.adminPaths.accounts}/:name`)
      .setPath(nameParam)
      .addSuccess(data({ account: Account }))
      .addError(Envelope.of(404))
      .annotate(OpenApi.Summary, "An account and its credits"),
  )
  .add(
    HttpApiEndpoint.patch("updateAccount", `${Wire.adminPaths.accounts}/:name`)
      .setPath(nameParam)
      .setPayload(body({ suspended: Schema.Boolean }))
      .addSuccess(data({ account: Account }))
      .addError(Envelope.of(404))
      .annotate(OpenApi.Summary, "Suspend an account, or resume it")
      .annotate(
        OpenApi.Description,
        "Every request of a suspended account gets 403 within 5 seconds. Nothing else changes.",
      ),
  )
  .add(
    HttpApiEndpoint.post("changeCredits", `${Wire.adminPaths.accounts}/:name/credits`)
      .setHeaders(ActHeaders)
      .setPath(nameParam)
      .setPayload(
        body({ amount: Schema.Int, note: optional(ShortText) }).pipe(
          Schema.filter(({ amount, note = "" }) =>
            amount === 0
              ? { path: ["amount"], message: "Expected a whole number other than 0" }
              : amount < 0 && note.trim() === ""
                ? { path: ["note"], message: "A negative amount needs a note" }
                : undefined,
          ),
        ),
      )
      .addSuccess(data({ account, ...Funds }))
      .addError(Envelope.Contradiction.body)
      .addError(Envelope.of(404, 422))
      .annotate(OpenApi.Summary, "Grant credits, or correct a grant with a negative amount")
      .annotate(
        OpenApi.Description,
        "A correction lowers what was granted. It never takes what is charged or held.",
      ),
  )
  .add(
    HttpApiEndpoint.get("statement", `${Wire.adminPaths.accounts}/:name/statement`)
      .setPath(nameParam)
      .setUrlParams(Schema.Struct({ limit: Parameter.limit("entries"), before: Parameter.before }))
      .addSuccess(data({ account, entries: Schema.Array(Entry) }))
      .addError(Envelope.of(404))
      .annotate(OpenApi.Summary, "The entries of an account, newest first"),
  )

const keys = HttpApiGroup.make("keys", { topLevel: true })
  .annotate(OpenApi.Description, "The API keys.")
  .add(
    HttpApiEndpoint.get("keys", Wire.adminPaths.keys)
      .setUrlParams(Search)
      .addSuccess(data({ keys: Schema.Array(Key) }))
      .annotate(OpenApi.Summary, "The keys of all accounts, newest first"),
  )
  .add(
    HttpApiEndpoint.get("accountKeys", `${Wire.adminPaths.accounts}/:name/keys`)
      .setPath(nameParam)
      .setUrlParams(Page)
      .addSuccess(data({ account, keys: Schema.Array(Key) }))
      .addError(Envelope.of(404))
      .annotate(OpenApi.Summary, "The keys of an account, newest first"),
  )
  .add(
    HttpApiEndpoint.post("createKey", `${Wire.adminPaths.accounts}/:name/keys`)
      .setHeaders(ActHeaders)
      .setPath(nameParam)
      .setPayload(
        body({
          label: optional(ShortTextOrNull),
          expiresIn: optional(Lifetime),
          budget: optional(BudgetText),
          scopes: optional(Scopes),
        }),
      )
      .addSuccess(NewKey, { status: 201 })
      .addSuccess(NewKey)
      .addError(Envelope.of(404, 422))
      .annotate(OpenApi.Summary, "Create a key, and show its secret once"),
  )
  .add(
    HttpApiEndpoint.patch("updateKey", `${Wire.adminPaths.keys}/:id`)
      .setPath(idParam)
      .setPayload(
        body({
          label: optional(Schema.NullOr(ShortTextOrNull)),
          budget: optional(Schema.NullOr(BudgetText)),
          scopes: optional(Scopes),
        }).pipe(
          // An empty change would only add a line to the audit log.
          Schema.filter((changes) => Object.keys(changes).length > 0, {
            message: () => "Expected a label, a budget or scopes",
          }),
        ),
      )
      .addSuccess(data({ key: Key }))
      .addError(Envelope.of(404))
      .annotate(OpenApi.Summary, "Change a key's label, budget or scopes"),
  )
  .add(
    HttpApiEndpoint.post("rotateKey", `${Wire.adminPaths.keys}/:id/rotate`)
      .setHeaders(ActHeaders)
      .setPath(idParam)
      .setPayload(body({ grace: optional(TimeSpan) }))
      .addSuccess(NewKey, { status: 201 })
      .addSuccess(NewKey)
      .addError(Envelope.of(404, 422))
      .annotate(OpenApi.Summary, "Replace a key with a new key"),
  )
  .add(
    HttpApiEndpoint.del("revokeKey", `${Wire.adminPaths.keys}/:id`)
      .setPath(idParam)
      .addSuccess(data({ id: Schema.String, revokedAt: Time }))
      .addError(Envelope.of(404))
      .annotate(OpenApi.Summary, "Revoke a key now"),
  )

const figures = HttpApiGroup.make("figures", { topLevel: true })
  .annotate(OpenApi.Description, "The figures that the service bought.")
  .add(
    HttpApiEndpoint.get("adminHistory", Wire.adminPaths.history)
      .setUrlParams(
        Schema.Struct({
          url: optional(text("A domain or a URL. Required.")),
          limit: Parameter.limit("observations"),
        }),
      )
      .addSuccess(HistoryResponse)
      .annotate(OpenApi.Summary, "The figures of a URL over time"),
  )

const AuditEntry = named("AuditEntry", "A line of the audit log.", [], {
  sequence: Schema.Int,
  at: Time,
  actor: text("`admin@ADDRESS`, `cli:USER` of the operating system, or `serve`."),
  action: text("Such as `key.revoke`."),
  subject: Schema.String,
  detail: Detail.annotations({ description: "A refused act has the reason under `refused`." }),
})

const Period = {
  since: Parameter.time("The first UTC day, or a time within it.", "2026-11-01"),
  until: Parameter.time("The end of the period, exclusive.", "2026-12-01"),
}

const AdminUsageRow = Schema.Struct({
  ...UsageRow.fields,
  account: optional(account),
}).annotations({ identifier: "AdminUsageRow" })

const usage = HttpApiGroup.make("usage", { topLevel: true })
  .annotate(OpenApi.Description, "What requests used.")
  .add(
    HttpApiEndpoint.get("adminUsage", Wire.adminPaths.usage)
      .setUrlParams(
        Schema.Struct({
          account: only("The name or the id of an account. Default: all accounts."),
          ...Period,
          by: Parameter.oneOf(["day", "key", "account"], {
            message: "Expected day, key or account",
          }),
          limit: Parameter.limit("rows"),
        }),
      )
      .addSuccess(data({ account: optional(account), rows: Schema.Array(AdminUsageRow) }))
      .addError(Envelope.of(404))
      .annotate(OpenApi.Summary, "What requests used, by UTC day, by key or by account"),
  )

const audit = HttpApiGroup.make("audit", { topLevel: true })
  .annotate(OpenApi.Description, "What operators changed, and what was refused.")
  .add(
    HttpApiEndpoint.get("audit", Wire.adminPaths.audit)
      .setUrlParams(
        Schema.Struct({
          limit: Parameter.limit("lines"),
          before: Parameter.before,
          subject: only("Only lines with this subject: an account's name, or a key's id."),
          actor: only("Only lines with this actor, such as `admin@192.0.2.1`."),
          action: only("Only lines with this action, such as `credits.grant`."),
        }),
      )
      .addSuccess(data({ entries: Schema.Array(AuditEntry) }))
      .annotate(OpenApi.Summary, "The lines of the audit log, newest first"),
  )

const document = HttpApiGroup.make("document", { topLevel: true })
  .annotate(OpenApi.Description, "This document.")
  .add(
    HttpApiEndpoint.get("adminDocument", Wire.adminPaths.openApi)
      .addSuccess(Schema.Unknown)
      .annotate(OpenApi.Summary, "This document"),
  )

const quota = Schema.NullOr(
  Schema.Struct({
    unit: Schema.String,
    allotted: Schema.Number,
    left: Schema.Number,
    resetsAt: Schema.NullOr(Time),
  }),
)

const circuitFields = {
  circuit: Schema.Literal("closed", "open", "exhausted").annotations({
    description: "While it is open, the provider is not asked. Exhausted: its quota is used up.",
  }),
  reason: textOrNull("Why the circuit is open, or the provider is not asked for a while."),
}

const failedCall = { at: Time, reason: Schema.String, message: Schema.String }

const ProviderState = named("ProviderState", "A provider, as this process sees it.", [], {
  provider: Schema.String,
  ...circuitFields,
  callsInFlight: Schema.NullOr(Schema.Number),
  callLimit: Schema.NullOr(Schema.Number),
  latencyMs: orNull(Schema.Number, "The average of the latest calls."),
  errors: list(Schema.Struct(failedCall), "The last ten failed calls, newest first."),
  quota,
  index: textOrNull("The vendor's name or date of its index now."),
  statusError: textOrNull("Why the vendor did not report its state."),
})

const sums = {
  calls: int("Retries and failed calls included."),
  rows: int("What the vendor billed, by its answers."),
  cost: orNull(
    Schema.Number,
    "In the vendor's currency; nothing is converted. Null when nobody knows the price.",
  ),
  failed: int("Calls that failed and surely cost nothing."),
  unanswered: int("Calls without an answer: the vendor may have billed them."),
}

const day = text("A UTC day such as 2026-11-24.")

const BoughtRow = named("BoughtRow", "What the calls to a vendor on a UTC day cost.", [], {
  provider: Schema.String,
  day,
  ...sums,
})

const SoldRow = named("SoldRow", "What was sold on a UTC day.", [], {
  provider: Schema.Null,
  day,
  answeredFromCache: int("Successful checks for which nothing was bought."),
  creditsCharged: Schema.Int,
})

const VendorCount = named("VendorCount", "The vendor's own count beside ours.", [], {
  provider: Schema.String,
  month: Schema.Struct(sums).annotations({
    description: "What the calls in this UTC month cost, by our count.",
  }),
  quota,
  error: textOrNull("Why the vendor did not answer; null when it did."),
})

const provider = HttpApiGroup.make("provider", { topLevel: true })
  .annotate(OpenApi.Description, "The providers of figures.")
  .add(
    HttpApiEndpoint.get("providerStatus", Wire.adminPaths.providerStatus)
      .addSuccess(data({ providers: Schema.Array(ProviderState) }))
      .annotate(OpenApi.Summary, "The providers, as the process that answers sees them"),
  )
  .add(
    HttpApiEndpoint.get("providerReport", Wire.adminPaths.providerReport)
      .setUrlParams(
        Schema.Struct({
          ...Period,
          limit: Parameter.limit("rows, the newest ones"),
          reconcile: optional(
            Schema.Literal("true").annotations({
              description: "Also asks each vendor for its own count, free of charge.",
            }),
          ),
        }),
      )
      .addSuccess(
        data({
          rows: Schema.Array(Schema.Union(BoughtRow, SoldRow)),
          counts: optional(Schema.Array(VendorCount)),
        }),
      )
      .annotate(OpenApi.Summary, "What calls to each vendor cost by UTC day, and what was sold")
      .annotate(OpenApi.Description, "Oldest first."),
  )

const cost = orNull(
  Schema.Number,
  "What the calls to vendors cost, in `currency`. Null when nobody knows the price of any call.",
)

const sold = {
  creditsCharged: count("Charged credits."),
  cost,
  answeredFromCache: count("Successful checks for which nothing was bought."),
}

const Overview = data({
  currency: text("The currency of costs and of `creditValue`: AUTHORITY_CURRENCY."),
  creditValue: orNull(
    Schema.Number,
    "What a customer pays for one credit: AUTHORITY_CREDIT_VALUE. Null when it is not set.",
  ),
  days: list(
    Schema.Struct({ day, ...sold }),
    "The last 30 UTC days, oldest first and today last. A day without requests has zeros.",
  ),
  sums: Schema.Struct(sold).annotations({ description: "The sums of these days." }),
  runningOut: list(
    Schema.Struct({
      account,
      available: Credits,
      chargedLastWeek: count("Credits charged today and on the six UTC days before."),
    }),
    "The accounts that have less available than they were charged in the last week: at most ten, " +
      "and first those that run out soonest. Of more than 1,000 accounts with charges, those with " +
      "most charges are looked at.",
  ),
  vendors: list(
    Schema.Struct({
      ...VendorCount.fields,
      ...circuitFields,
      ceiling: orNull(Schema.Int, "The most rows that may be bought in a UTC month."),
    }),
    "The providers, as the process that answers sees them.",
  ),
  errors: list(
    Schema.Struct({ provider: Schema.String, ...failedCall }),
    "The last ten failed calls to any provider, newest first.",
  ),
})

const overview = HttpApiGroup.make("overview", { topLevel: true })
  .annotate(OpenApi.Description, "The service at a glance.")
  .add(
    HttpApiEndpoint.get("overview", Wire.adminPaths.overview)
      .addSuccess(Overview)
      .annotate(OpenApi.Summary, "Sales and costs by day, customers, vendors and errors")
      .annotate(OpenApi.Description, "Asks each vendor for its own count, free of charge."),
  )

export const wrongTokenMessage =
  "The token is wrong. Send the token of AUTHORITY_ADMIN_TOKEN in the header Authorization: Bearer TOKEN."

export const wrongTokensMessage = "Too many wrong tokens came from this address; try again later."

/** Checks the token before a request is decoded. */
export class Administrator extends HttpApiMiddleware.Tag<Administrator>()("Administrator", {
  failure: Schema.Union(
    Envelope.Unauthorized.body.annotations({
      identifier: "Unauthorized",
      description: "The token is absent or wrong.",
      examples: [new Envelope.Unauthorized({ message: wrongTokenMessage })],
    }),
    Envelope.TooManyRequests.body.annotations({
      identifier: "TooManyRequests",
      description:
        "Ten wrong tokens in a minute came from this address. `Retry-After` gives the seconds to " +
        "wait.",
      examples: [new Envelope.TooManyRequests({ message: wrongTokensMessage })],
    }),
  ),
  security: {
    token: HttpApiSecurity.bearer.pipe(
      HttpApiSecurity.annotate(OpenApi.Description, "The token in AUTHORITY_ADMIN_TOKEN."),
    ),
  },
}) {}

export class AdminApi extends HttpApi.make("authority-metrics-administration")
  .add(accounts)
  .add(keys)
  .add(figures)
  .add(provider)
  .add(usage)
  .add(audit)
  .add(overview)
  .add(document)
  .addError(Envelope.of(400, 413, 500, 503))
  .middleware(Administrator)
  .annotateContext(OpenApiDocument.about("Administration of authority metrics"))
  .annotate(
    OpenApi.Description,
    "Accounts, keys and credits, as the command line has them. Every answer is JSON with `success`; " +
      "lists are under `data`. Every change is a line of the audit log.",
  ) {}
