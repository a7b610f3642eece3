/**
 * DataForSEO's Backlinks API. One call returns ranks, another call returns spam scores. Source: the
 * vendor's public reference.
 *
 * The ranks of domain and page become domain and page authority, in the vendor's logarithmic scale
 * from 0 to 100. A rank of 0 means that there are no backlinks. A page that is missing from the
 * answer has no figures.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../../database/rows/TypeGuard.ts"
import { metricsOf, Outcome, providerFailed, Score } from "../../check/Metrics.ts"
import type { ProviderError } from "../MetricsProvider.ts"
import { Target } from "../../check/Target.ts"
import { type Adapter, required, Vendor } from "../Vendor.ts"
import * as VendorHttp from "./VendorHttp.ts"

// DataForSEO accepts at most 1000 domains and URLs in one call, and each target needs two of these
// 1000 places: one for its domain and one for its URL.
const batchSize = 500

export const layer = ({
  login,
  password,
  url,
}: {
  readonly url: string
  readonly login: string
  readonly password: Redacted.Redacted
}): Layer.Layer<Vendor> => {
  const http = VendorHttp.make({
    provider: "dataforseo",
    url,
    secrets: { authorization: VendorHttp.basic(`${login}:${Redacted.value(password)}`) },
  })

  /** Sends one task. Fails when the answer, or the task in it, has an error status. */
  const call = Effect.fnUntraced(function* (path: string, task?: object) {
    const response = yield* http.send({ url: `${url}/${path}`, json: task && [task] })
    const verify = (part: unknown) => {
      const status = Option.getOrUndefined(decodeStatus(part))
      if (status === undefined || status.status_code === ok) return Effect.void
      const { status_code: code, status_message: message = "without a message" } = status
      return http.error(reasonOf(code), `status ${code}, ${message}`, response)
    }
    // The vendor's code is more precise than the HTTP status: 402 may mean a rate limit.
    yield* verify(response.json)
    const { cost, tasks } = yield* http.decode(response, decodeBody, fields)
    const [first] = tasks
    if (first === undefined) return yield* http.error("Malformed", "the answer has no task")
    yield* verify(first)
    return { results: first.result ?? [], cost: isAmount(cost) ? cost : undefined }
  })

  /** Returns the figures by the domain or URL that was sent. Skips items that cannot be decoded. */
  const figures = (field: "rank" | "spam_score", path: string, task: object) =>
    Effect.map(call(path, task), ({ cost, results }) => {
      const items = results.flatMap(({ items }) => items ?? [])
      const { misfit, values } = http.decodeAll(items, decodeFigure[field])
      return { cost, misfit, of: new Map(values.map((one) => [nameOf(one.target), one.figure])) }
    })

  const lookup: VendorHttp.Call = Effect.fnUntraced(function* (targets) {
    const domains = [...new Set(targets.map(({ domain }) => domain))]
    const ranked = [...domains, ...targets.map((target) => target.url)]
    const ranks = { targets: ranked, rank_scale: "one_hundred" }
    const [rankOf, scored] = yield* Effect.all(
      [
        figures("rank", "backlinks/bulk_ranks/live", ranks),
        Effect.either(
          figures("spam_score", "backlinks/bulk_spam_score/live", { targets: domains }),
        ),
      ],
      { concurrency: 2 },
    )
    // Spam scores are optional: if the call for them fails, the lookup still succeeds.
    if (Either.isLeft(scored)) yield* warnOfSpamScores(scored.left)
    const spamScoreOf = Option.getOrUndefined(Either.getRight(scored))
    const absent =
      rankOf.misfit === undefined
        ? providerFailed("DataForSEO has no figures for the target", "unknown")
        : providerFailed(`DataForSEO's figures cannot be read: ${rankOf.misfit}`)
    const outcomes = targets.map((target): Outcome => {
      const domainAuthority = rankOf.of.get(target.domain)
      const pageAuthority = rankOf.of.get(target.url)
      if (domainAuthority === undefined || pageAuthority === undefined) return absent
      return Outcome.Checked({
        metrics: metricsOf(domainAuthority, pageAuthority, spamScoreOf?.of.get(target.domain)),
        ...(spamScoreOf === undefined && { isPartial: true }),
      })
    })
    const costs = [rankOf.cost, spamScoreOf?.cost].filter((cost) => cost !== undefined)
    const cost = costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost)
    return { outcomes, rows: targets.length, cost }
  })

  const status = Effect.gen(function* () {
    const { results } = yield* call("appendix/user_data")
    const money = results[0]?.money
    if (money === undefined || money === null) {
      return yield* http.error("Malformed", "the field money is missing")
    }
    return { quota: { unit: "USD", allotted: money.total, left: money.balance, resetsAt: null } }
  })

  return Layer.succeed(Vendor, http.vendor({ batchSize, call: lookup, status }))
}

export const adapter: Adapter = {
  fromSettings: (settings) =>
    Effect.all({
      login: required(settings, "dataforseoLogin"),
      password: required(settings, "dataforseoPassword"),
    }).pipe(Effect.map((secrets) => layer({ url: settings.dataforseoUrl, ...secrets }))),
  price: "two billed calls",
  gives: ["spam_score"],
}

const warnOfSpamScores = ({ message }: ProviderError) =>
  Effect.logWarning(
    "DataForSEO returned no spam scores for a lookup, so the figures of this lookup have no spam scores. If this message repeats, run 'authority doctor'.",
    message,
  )

// Makes the key of a domain or a page in the map of figures. Keys of pages have a scheme and keys
// of domains do not, so `example.com` and its home page have different keys.
const nameOf = (target: string): string =>
  /^https?:/i.test(target)
    ? Option.match(Option.getRight(Target.parse(target)), {
        onNone: () => target,
        onSome: ({ url }) => url,
      })
    : target.toLowerCase()

const ok = 20000

// The first three digits of `code` are an HTTP status. 40202 and 40209 are rate and concurrency
// limits. 40200, 40203 and 40210 mean that a payment, the daily cost limit or the balance is at
// fault. Every other 402xx refuses the caller.
const reasonOf = (code: number): ProviderError["reason"] => {
  if (code === 40202 || code === 40209) return "Throttled"
  if (code === 40200 || code === 40203 || code === 40210) return "Exhausted"
  const status = Math.floor(code / 100)
  return status === 402 ? "Refused" : VendorHttp.reasonOf(status)
}

const Status = {
  status_code: Schema.Number,
  status_message: Schema.optionalWith(Schema.String, { nullable: true }),
}

const Result = Schema.Struct({
  items: Schema.NullishOr(Schema.Array(Schema.Unknown)),
  /** The account's money in USD: what was paid in, and what is left of it. */
  money: Schema.NullishOr(Schema.Struct({ total: Schema.Number, balance: Schema.Number })),
})

const isAmount = Schema.is(Schema.Number.pipe(Schema.between(0, 1e9)))

const Body = Schema.Struct({
  ...Status,
  cost: Schema.optional(Schema.Unknown),
  tasks: Schema.optionalWith(
    Schema.Array(
      Schema.Struct({
        ...Status,
        result: Schema.NullishOr(Schema.Array(Result)),
      }),
    ),
    { nullable: true, default: () => [] },
  ),
})

const fields = [
  "version",
  "status_code",
  "status_message",
  "time",
  "cost",
  "tasks_count",
  "tasks_error",
  "tasks",
]

const decodeBody = TypeGuard.decoder(Body)
const decodeStatus = Schema.decodeUnknownOption(Schema.Struct(Status))

const figureDecoder = (field: "rank" | "spam_score") =>
  TypeGuard.decoder(
    Schema.Struct({
      target: Schema.String,
      figure: Schema.propertySignature(Score).pipe(Schema.fromKey(field)),
    }),
  )
const decodeFigure = { rank: figureDecoder("rank"), spam_score: figureDecoder("spam_score") }
