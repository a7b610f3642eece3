/**
 * The Moz API ("v3"): JSON-RPC 2.0 at one URL. Each result costs one row of the subscription.
 * Source: Moz's public reference and captured answers.
 *
 * Results come in any order. Each result contains its query, which identifies the target. After
 * more than 50 answers with a 4xx status within five minutes, Moz throttles the whole account. So
 * only valid targets are sent, and the calls stop after 40 such answers.
 *
 * Moz documents no status for a used-up quota, so the adapter asks for the quota after a refusal.
 */
import { randomUUID } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../../database/rows/TypeGuard.ts"
import {
  checkedFrom,
  type Metrics,
  metricsOf,
  type Outcome,
  providerFailed,
  Score,
} from "../../check/Metrics.ts"
import { ProviderError } from "../MetricsProvider.ts"
import { Target } from "../../check/Target.ts"
import { type Adapter, required, Vendor } from "../Vendor.ts"
import * as VendorHttp from "./VendorHttp.ts"

interface Options {
  readonly url: string
  readonly token: Redacted.Redacted
}

export const layer = (options: Options): Layer.Layer<Vendor> => Layer.effect(Vendor, make(options))

export const adapter: Adapter = {
  fromSettings: (settings) =>
    Effect.map(required(settings, "mozToken"), (token) => layer({ url: settings.mozUrl, token })),
  price: "one row",
  gives: ["spam_score"],
}

const make = Effect.fnUntraced(function* ({ token, url }: Options) {
  const http = VendorHttp.make({ provider: "moz", url, secrets: { "x-moz-token": token } })

  const call = Effect.fnUntraced(function* <A>(
    method: string,
    data: unknown,
    decoder: (json: unknown) => Either.Either<Success<A>, ParseResult.ParseIssue>,
  ) {
    const id = randomUUID()
    const json = { jsonrpc: "2.0", id, method, params: { data } }
    const response = yield* http.send({ url, json })
    const failure = Option.getOrUndefined(decodeFailure(response.json))
    if (failure !== undefined) {
      const { error } = failure
      return yield* http.error(reasonOf(error, response.status), explain(error), response)
    }
    const success = yield* http.decode(response, decoder, ["id", "jsonrpc", "result"])
    if (success.id !== id) {
      return yield* http.error("Malformed", "the answer has the id of another call")
    }
    return success.result
  })

  const quota = Effect.map(
    call("quota.lookup", { path: "api.limits.data.rows" }, decodeQuota),
    ({ quota }) => quotaOf(quota),
  )
  const index = Effect.map(call("metadata.index.fetch", {}, decodeIndex), (index) => index.index_id)
  const latestQuota = yield* latest(quota, "1 minute")
  const latestIndex = yield* latest(index, "1 hour")

  /** Turns a refusal into Exhausted if no rows are left. */
  const refused = Effect.fnUntraced(function* (error: ProviderError) {
    if (error.reason !== "Rejected" && error.reason !== "Refused") return yield* error
    const known = Option.getOrUndefined(yield* latestQuota)
    if (known === undefined || known.left > 0 || known.allowsOverage === true) return yield* error
    const now = yield* Clock.currentTimeMillis
    return yield* new ProviderError({
      provider: "moz",
      reason: "Exhausted",
      detail: `no rows are left: ${error.detail}`,
      ...(known.resetsAt !== null && {
        retryAfter: Duration.millis(Math.max(0, known.resetsAt - now)),
      }),
    })
  })

  const lookup: VendorHttp.Call = Effect.fnUntraced(function* (targets) {
    const urls = targets.map(({ url }) => url)
    // Moz keeps a URL unchanged only with the scope `url`. Others give figures of another page.
    const site_queries = urls.map((query) => ({ query, scope: "url" }))
    const results = yield* call(
      "data.site.metrics.fetch.multiple",
      { site_queries },
      decodeResults,
    ).pipe(Effect.catchAll(refused))
    const checked = checkedBy(http.misfit, Option.getOrUndefined(yield* latestIndex))
    const { misfit, values } = http.decodeAll(results.results_by_site, decodeItem)
    const errors = http.decodeAll(results.errors_by_site ?? [], decodeItem).values
    const asked = new Set(urls)
    const outcomes = new Map<string, Outcome>()
    // When Moz gives several outcomes for one URL, the first one counts.
    const add = ({ site_query }: Item, outcome: () => Outcome) => {
      const { query } = site_query.original_site_query
      // Moz may return the URL in another spelling. If so, parse the URL to find the target.
      const url = asked.has(query) ? query : Either.getOrUndefined(Target.parse(query))?.url
      if (url !== undefined && !outcomes.has(url)) outcomes.set(url, outcome())
    }
    for (const item of values) add(item, () => checked(item.site_metrics))
    for (const item of errors) add(item, () => siteError(item.error, http.quote))
    const absent = providerFailed(
      misfit === undefined
        ? "Moz's answer does not contain the target"
        : `Moz's answer cannot be read: ${misfit}`,
    )
    return {
      outcomes: urls.map((url) => outcomes.get(url) ?? absent),
      // An error does not cost a row.
      rows: results.results_by_site.length,
      cost: undefined,
    }
  })

  return http.vendor({
    // Moz documents no maximum for this API; 50 is the maximum of the Moz Links API v2.
    batchSize: 50,
    maxRefusals: 40,
    billsUnknown: false,
    call: lookup,
    status: Effect.gen(function* () {
      const left = yield* quota
      // A free plan allows one call in ten seconds, so this second call may be throttled.
      return { quota: left, index: Option.getOrUndefined(yield* Effect.option(index)) }
    }),
  })
})

/**
 * Asks at most once per `time`, and waits at most two seconds. A separate fiber asks, so that a
 * lookup that ends before the answer does not make the next lookup ask again.
 */
const latest = <A>(asking: Effect.Effect<A, ProviderError>, time: Duration.DurationInput) =>
  asking.pipe(
    Effect.timeout("2 seconds"),
    Effect.option,
    Effect.forkDaemon,
    Effect.cachedWithTTL(time),
    Effect.map(Effect.flatMap(Fiber.join)),
  )

/**
 * Decodes the figures of one page, for both Moz APIs. Pages are decoded one by one, so that a
 * malformed page fails only its own target. `misfit` describes what is wrong with it.
 */
export const checkedBy =
  (misfit: VendorHttp.VendorHttp["misfit"], index?: string) =>
  (siteMetrics: unknown): Outcome =>
    Either.match(decodeSiteMetrics(siteMetrics), {
      onLeft: (issue) => providerFailed(`Moz's figures cannot be read: ${misfit(issue)}`),
      onRight: (figures) => checkedFrom(read(figures), { index }),
    })

const siteError = (error: unknown, quote: VendorHttp.VendorHttp["quote"]): Outcome =>
  Option.match(decodeRpcError(error), {
    onNone: () => providerFailed("Moz answered with an error"),
    onSome: (known) =>
      known.code === notFound
        ? providerFailed(`Moz does not know the page (error ${notFound})`, "unknown")
        : providerFailed(`Moz answered with the error ${quote(explain(known))}`),
  })

const notFound = -32655

// Returns the reason why a call failed. The status in the JSON-RPC error decides before the HTTP
// status, which may be 200 for a failed call.
const reasonOf = (error: RpcError, httpStatus: number): ProviderError["reason"] => {
  const status = error.status ?? error.httpStatus ?? httpStatus
  if (status >= 400) return VendorHttp.reasonOf(status)
  return isServersFault(error.code) ? "Unavailable" : "Rejected"
}

// Moz uses the code -32602 for its own unexpected errors. The codes -32603 and -32000 to -32099 are
// server errors in JSON-RPC.
const isServersFault = (code: number | undefined) =>
  code === -32602 || code === -32603 || (code !== undefined && code <= -32000 && code >= -32099)

const explain = ({ code, data, message }: RpcError): string =>
  [code, data?.issue, message, data?.explanation].filter((part) => part !== undefined).join(": ")

const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })

const RpcError = Schema.Struct({
  code: maybe(Schema.Number),
  /** The HTTP status is in `status` or in `httpStatus`. */
  status: maybe(Schema.Number),
  httpStatus: maybe(Schema.Number),
  message: maybe(Schema.String),
  data: maybe(Schema.Struct({ issue: maybe(Schema.String), explanation: maybe(Schema.String) })),
})
type RpcError = typeof RpcError.Type

const decodeRpcError = Schema.decodeUnknownOption(RpcError)

const Failure = Schema.Struct({ error: RpcError })

const decodeFailure = Schema.decodeUnknownOption(Failure)

interface Success<A> {
  readonly id: string
  readonly result: A
}

const success = <A, I>(result: Schema.Schema<A, I>) =>
  TypeGuard.decoder(Schema.Struct({ id: Schema.String, result }))

const Results = Schema.Struct({
  results_by_site: Schema.Array(Schema.Unknown),
  errors_by_site: Schema.optionalWith(Schema.Array(Schema.Unknown), { exact: true }),
})

const decodeResults = success(Results)

const Item = Schema.Struct({
  site_query: Schema.Struct({ original_site_query: Schema.Struct({ query: Schema.String }) }),
  site_metrics: Schema.Unknown,
  error: Schema.Unknown,
})
type Item = typeof Item.Type

const decodeItem = TypeGuard.decoder(Item)

const SiteMetrics = Schema.Struct({
  page_authority: Score,
  domain_authority: Score,
  /** Absent, null or -1 when Moz has not computed a score. */
  spam_score: Schema.Unknown,
})

const read = ({
  domain_authority: domainAuthority,
  page_authority: pageAuthority,
  spam_score: spamScore,
}: typeof SiteMetrics.Type): Metrics =>
  metricsOf(domainAuthority, pageAuthority, isScore(spamScore) ? spamScore : undefined)

const isScore = TypeGuard.make(Score)

const decodeSiteMetrics = TypeGuard.decoder(SiteMetrics)

const Quota = Schema.Struct({
  allotted: Schema.Number,
  used: Schema.Number,
  overage: maybe(Schema.Boolean),
  period_reset: maybe(Schema.Number),
})

const decodeQuota = success(Schema.Struct({ quota: Quota }))

const quotaOf = ({ allotted, overage, period_reset, used }: typeof Quota.Type) => ({
  unit: "rows",
  allotted,
  left: allotted - used,
  allowsOverage: overage,
  resetsAt: period_reset === undefined ? null : period_reset * 1000,
})

const decodeIndex = success(Schema.Struct({ index_id: Schema.String }))
