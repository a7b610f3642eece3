/**
 * The Moz API ("v3"): JSON-RPC 2.0 over one address, one row of the subscription for each result.
 * From Moz's public reference and captures of its answers.
 *
 * Moz answers in an order of its own, so results find their targets by the query that they echo.
 * More than 50 answers with a 4xx status within five minutes throttle the whole account: nothing is
 * sent that `Target` has not found valid, and nothing refused is sent again.
 */
import { randomUUID } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../TypeGuard.ts"
import { type Metrics, metricsOf, Outcome, Score } from "../Metrics.ts"
import { MetricsProvider, nothingKnown, type ProviderError } from "../MetricsProvider.ts"
import { Target } from "../Target.ts"
import { latestTime } from "../TimeSpan.ts"
import { type Ask, failed, inBatchesOf } from "./Batches.ts"
import * as Wire from "./Wire.ts"

/** Moz states no maximum; its older interface takes 50 at most. */
const batchSize = 50

/** `url` is the address of the JSON-RPC endpoint. */
export const layer = (options: {
  readonly url: string
  readonly token: Redacted.Redacted
}): Layer.Layer<MetricsProvider> => Layer.sync(MetricsProvider, () => make(options))

const make = (options: { readonly url: string; readonly token: Redacted.Redacted }) => {
  const wire = Wire.make({
    provider: "moz",
    url: options.url,
    secrets: { "x-moz-token": options.token },
  })
  const checked = checkedBy(wire.quote)

  /** The `result` of one call. */
  const call = Effect.fnUntraced(function* <A>(
    method: string,
    data: unknown,
    decoder: (json: unknown) => Either.Either<Success<A>, ParseResult.ParseIssue>,
  ) {
    const id = randomUUID()
    const json = { jsonrpc: "2.0", id, method, params: { data } }
    const reply = yield* wire.send({ url: options.url, json })
    const failure = Option.flatMap(reply.json, decodeFailure)
    if (Option.isSome(failure)) {
      const { error } = failure.value
      return yield* wire.error(reasonOf(error, reply.status), explain(error), reply)
    }
    const success = yield* wire.decode(reply, decoder)
    if (success.id !== id) {
      return yield* wire.error("Malformed", "the answer is to another question")
    }
    return success.result
  })

  const ask: Ask = Effect.fnUntraced(function* (targets) {
    const urls = targets.map(({ url }) => url)
    // An absolute address with the scope `url` is the one form that Moz takes as it stands: a
    // coarser scope would answer for another page.
    const site_queries = urls.map((query) => ({ query, scope: "url" }))
    const results = yield* call("data.site.metrics.fetch.multiple", { site_queries }, decodeResults)
    const outcomes = outcomesOf(results, new Set(urls), checked)
    return urls.map((url) => outcomes.get(url) ?? failed("Moz left it out of its answer"))
  })

  return MetricsProvider.of({
    name: "moz",
    batchSize,
    known: nothingKnown,
    lookup: inBatchesOf(batchSize, ask),
    quota: Effect.map(
      call("quota.lookup", { path: "api.limits.data.rows" }, decodeQuota),
      ({ quota: { allotted, period_reset, used } }) => ({
        unit: "rows",
        allotted,
        used,
        resetsAt: period_reset === undefined ? null : period_reset * 1000,
      }),
    ),
  })
}

/** The outcomes by the address of their target; the first where Moz gives several. */
const outcomesOf = (
  { errors_by_site = [], results_by_site }: typeof Results.Type,
  asked: ReadonlySet<string>,
  checked: (siteMetrics: unknown) => Outcome,
): ReadonlyMap<string, Outcome> => {
  const outcomes = new Map<string, Outcome>()
  const add = (items: ReadonlyArray<unknown>, outcomeOf: (item: Item) => Outcome) => {
    for (const item of items) {
      if (!isItem(item)) continue
      const { query } = item.site_query.original_site_query
      // Only an echo in another spelling needs to be parsed.
      const url = asked.has(query) ? query : Either.getOrUndefined(Target.parse(query))?.url
      if (url !== undefined && !outcomes.has(url)) outcomes.set(url, outcomeOf(item))
    }
  }
  add(results_by_site, ({ site_metrics }) => checked(site_metrics))
  add(errors_by_site, ({ error }) => refused(error))
  return outcomes
}

/**
 * The figures of one page, as both of Moz's interfaces give them. They are decoded page by page, so
 * that one that is malformed fails nobody else. `quote` makes what Moz wrote fit for a log.
 */
export const checkedBy =
  (quote: Wire.Wire["quote"]) =>
  (siteMetrics: unknown): Outcome =>
    Either.match(decodeSiteMetrics(siteMetrics), {
      onLeft: (issue) =>
        failed(
          `Moz's figures cannot be read: ${quote(ParseResult.TreeFormatter.formatIssueSync(issue))}`,
        ),
      onRight: (figures) => Outcome.Checked({ metrics: read(figures) }),
    })

const refused = (error: unknown): Outcome =>
  Option.match(decodeRpcError(error), {
    onNone: () => failed("Moz answered with an error"),
    onSome: ({ code }) => failed(`Moz answered with the error ${code ?? "without a code"}`),
  })

/** Of a failed call. The error's own status counts, for it may come with HTTP 200. */
const reasonOf = (error: RpcError, httpStatus: number): ProviderError["reason"] => {
  const status = error.status ?? error.httpStatus ?? (httpStatus >= 400 ? httpStatus : undefined)
  if (status !== undefined && status >= 400) return Wire.reasonOf(status)
  return isServersFault(error.code) ? "Unavailable" : "Refused"
}

/** -32602 is Moz's "unexpected"; -32603 and -32000 to -32099 are so by JSON-RPC. */
const isServersFault = (code: number | undefined) =>
  code === -32602 || code === -32603 || (code !== undefined && code <= -32000 && code >= -32099)

const explain = ({ code, data, message }: RpcError): string =>
  [code, data?.issue, message, data?.explanation].filter((part) => part !== undefined).join(": ")

// What Moz says.

const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })

const RpcError = Schema.Struct({
  code: maybe(Schema.Number),
  /** An HTTP status; under the one name or the other. */
  status: maybe(Schema.Number),
  httpStatus: maybe(Schema.Number),
  message: maybe(Schema.String),
  data: maybe(Schema.Struct({ issue: maybe(Schema.String), explanation: maybe(Schema.String) })),
})
type RpcError = typeof RpcError.Type

const decodeRpcError = Schema.decodeUnknownOption(RpcError)

/** A call as a whole came to nothing. */
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

/** What is said of one page, in either list. */
const Item = Schema.Struct({
  site_query: Schema.Struct({ original_site_query: Schema.Struct({ query: Schema.String }) }),
  site_metrics: Schema.Unknown,
  error: Schema.Unknown,
})
type Item = typeof Item.Type

const isItem = TypeGuard.make(Item)

const SiteMetrics = Schema.Struct({
  page_authority: Score,
  domain_authority: Score,
  /** Absent, null or -1 when it was not computed. */
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

const decodeQuota = success(
  Schema.Struct({
    quota: Schema.Struct({
      allotted: Schema.Number,
      used: Schema.Number,
      /** Epoch seconds, as far as a `Date` goes. */
      period_reset: maybe(Schema.Number.pipe(Schema.between(0, latestTime / 1000))),
    }),
  }),
)
