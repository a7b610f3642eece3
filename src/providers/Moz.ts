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
import * as Schema from "effect/Schema"
import * as Guard from "../Guard.ts"
import { type Metrics, Outcome, Score } from "../Metrics.ts"
import { MetricsProvider, nothingKnown, type ProviderError } from "../MetricsProvider.ts"
import { Target } from "../Target.ts"
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
  const wire = Wire.make({ provider: "moz", secrets: { "x-moz-token": options.token } })

  /** The `result` of one call. */
  const call = Effect.fnUntraced(function* <A, I>(
    method: string,
    data: unknown,
    Result: Schema.Schema<A, I>,
  ) {
    const id = randomUUID()
    const json = { jsonrpc: "2.0", id, method, params: { data } }
    const reply = yield* wire.send({ url: options.url, json })
    const failure = Option.flatMap(reply.json, Schema.decodeUnknownOption(Failure))
    if (Option.isSome(failure)) {
      const { error } = failure.value
      return yield* wire.error(reasonOf(error, reply.status), explain(error), reply)
    }
    const success = yield* wire.decode(reply, Guard.decoder(Success(Result)))
    if (success.id !== id) {
      return yield* wire.error("Malformed", "the answer is to another question")
    }
    return success.result
  })

  const ask: Ask = Effect.fnUntraced(function* (targets) {
    // An absolute address with the scope `url` is the one form that Moz takes as it stands: a
    // coarser scope would answer for another page.
    const site_queries = targets.map(({ url }) => ({ query: url, scope: "url" }))
    const results = yield* call("data.site.metrics.fetch.multiple", { site_queries }, Results)
    const answers = new Answers(results)
    return targets.map((target) => answers.take(target))
  })

  return MetricsProvider.of({
    name: "moz",
    batchSize,
    known: nothingKnown,
    lookup: inBatchesOf(batchSize, ask),
    quota: Effect.map(
      call("quota.lookup", { path: "api.limits.data.rows" }, QuotaResult),
      ({ quota: { allotted, period_reset, used } }) => ({
        unit: "rows",
        allotted,
        used,
        resetsAt: period_reset === undefined ? null : period_reset * 1000,
      }),
    ),
  })
}

/** The answers by the page they are for; as many for a page as there were. */
class Answers {
  private readonly byPage = new Map<string, Array<Outcome>>()

  constructor({ errors_by_site, results_by_site }: typeof Results.Type) {
    for (const item of results_by_site) this.add(item, checked(item))
    for (const item of errors_by_site) this.add(item, refused(item))
  }

  take({ page }: Target): Outcome {
    return this.byPage.get(page)?.shift() ?? failed("Moz left it out of its answer")
  }

  private add(item: unknown, outcome: Outcome) {
    const echo = Schema.decodeUnknownOption(Echo)(item)
    if (Option.isNone(echo)) return
    const target = Target.parse(echo.value.site_query.original_site_query.query)
    if (Either.isLeft(target)) return
    const { page } = target.right
    const outcomes = this.byPage.get(page)
    if (outcomes === undefined) this.byPage.set(page, [outcome])
    else outcomes.push(outcome)
  }
}

/** Each item is decoded by itself, so that one that is malformed fails nobody else. */
const checked = (item: unknown): Outcome =>
  Either.match(Schema.decodeUnknownEither(SiteResult)(item), {
    onLeft: ({ message }) => failed(`Moz's figures cannot be read: ${message}`),
    onRight: ({ site_metrics }) => Outcome.Checked({ metrics: site_metrics.toDomain() }),
  })

const refused = (item: unknown): Outcome =>
  Option.match(Schema.decodeUnknownOption(SiteError)(item), {
    onNone: () => failed("Moz answered with an error"),
    onSome: ({ error }) => failed(`Moz answered with the error ${error.code ?? "without a code"}`),
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

/** A call as a whole came to nothing. */
const Failure = Schema.Struct({ error: RpcError })

const Success = <A, I>(Result: Schema.Schema<A, I>) =>
  Schema.Struct({ id: Schema.String, result: Result })

const Results = Schema.Struct({
  results_by_site: Schema.Array(Schema.Unknown),
  errors_by_site: Schema.optionalWith(Schema.Array(Schema.Unknown), { default: () => [] }),
})

const Echo = Schema.Struct({
  site_query: Schema.Struct({
    original_site_query: Schema.Struct({ query: Schema.String }),
  }),
})

/** The figures of one page, as both of Moz's interfaces give them. */
export class SiteMetrics extends Schema.Class<SiteMetrics>("moz/SiteMetrics")({
  page_authority: Score,
  domain_authority: Score,
  /** Absent, null or -1 when it was not computed. */
  spam_score: Schema.Unknown,
}) {
  toDomain(): Metrics {
    return {
      domainAuthority: this.domain_authority,
      pageAuthority: this.page_authority,
      ...(isScore(this.spam_score) && { spamScore: this.spam_score }),
    }
  }
}

const isScore = Schema.is(Score)

const SiteResult = Schema.Struct({ site_metrics: SiteMetrics })

const SiteError = Schema.Struct({ error: RpcError })

const QuotaResult = Schema.Struct({
  quota: Schema.Struct({
    allotted: Schema.Number,
    used: Schema.Number,
    /** Epoch seconds. */
    period_reset: maybe(Schema.Number),
  }),
})
