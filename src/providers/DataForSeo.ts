/**
 * DataForSEO's Backlinks API. One call returns ranks, another call returns spam scores. The facts
 * about the API come from the vendor's public reference.
 *
 * A rank is a PageRank over the vendor's own index, from 0 to 1000. This code asks for the scale
 * `one_hundred`: 0 to 100, logarithmic by the vendor's formula. The domain's rank becomes domain
 * authority, and the page's rank becomes page authority. Both figures correlate with Moz's figures
 * but are not the same. A rank of 0 means that the index has no backlinks to the domain or page. A
 * page that is missing from the answer has no figures.
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../schema/TypeGuard.ts"
import { metricsOf, Outcome, providerFailed, Score } from "../Metrics.ts"
import type { MetricsProvider, ProviderError } from "../MetricsProvider.ts"
import { Target } from "../Target.ts"
import type { Ask } from "./Chunks.ts"
import { vendor } from "./vendor.ts"
import * as VendorHttp from "./VendorHttp.ts"

// DataForSEO accepts at most 1000 domains and URLs in one call, and each target needs two of these
// 1000 places: one for its domain and one for its URL.
const batchSize = 500

/** `url` is the base URL of the API, including its version. */
export const layer = ({
  login,
  password,
  url,
}: {
  readonly url: string
  readonly login: string
  readonly password: Redacted.Redacted
}): Layer.Layer<MetricsProvider> => {
  const http = VendorHttp.make({
    provider: "dataforseo",
    url,
    secrets: { authorization: VendorHttp.basic(`${login}:${Redacted.value(password)}`) },
  })

  /** Sends one task and returns its items. Fails when the call or the task has an error status. */
  const call = Effect.fnUntraced(function* (path: string, task: object) {
    const response = yield* http.send({ url: `${url}/backlinks/${path}/live`, json: [task] })
    const answer = yield* http.decode(response, decodeBody)
    const [first] = answer.tasks
    for (const { status_code, status_message } of [answer, ...(first ? [first] : [])]) {
      if (status_code !== ok) {
        const detail = `status ${status_code}, ${status_message ?? "without a message"}`
        return yield* http.error(reasonOf(status_code), detail, response)
      }
    }
    if (first === undefined) return yield* http.error("Malformed", "the answer has no task")
    return (first.result ?? []).flatMap(({ items }) => items ?? [])
  })

  const ranks = (targets: ReadonlyArray<string>) =>
    Effect.map(call("bulk_ranks", { targets, rank_scale: "one_hundred" }), figures(Rank))

  const spamScores = (targets: ReadonlyArray<string>) =>
    Effect.map(call("bulk_spam_score", { targets }), figures(SpamScore))

  const lookup: Ask = Effect.fnUntraced(function* (targets) {
    const domains = [...new Set(targets.map(({ domain }) => domain))]
    const [rankOf, spamScoreOf] = yield* Effect.all(
      [
        ranks([...domains, ...targets.map((target) => target.url)]),
        // Spam scores are optional: when the call for spam scores fails, the lookup still succeeds.
        Effect.catchAll(Effect.asSome(spamScores(domains)), withoutSpamScores),
      ],
      { concurrency: 2 },
    )
    const spamScore = (domain: string) => Option.getOrUndefined(spamScoreOf)?.get(domain)
    return targets.map((target): Outcome => {
      const domainAuthority = rankOf.get(target.domain)
      const pageAuthority = rankOf.get(target.url)
      if (domainAuthority === undefined || pageAuthority === undefined) {
        return providerFailed("DataForSEO has no figures for the target", "unknown")
      }
      return Outcome.Checked({
        metrics: metricsOf(domainAuthority, pageAuthority, spamScore(target.domain)),
        ...(Option.isNone(spamScoreOf) && { isPartial: true }),
      })
    })
  })

  return vendor({ name: "dataforseo", batchSize, lookup })
}

type Figures = ReadonlyMap<string, number>

const withoutSpamScores = (error: ProviderError): Effect.Effect<Option.Option<Figures>> =>
  Effect.as(
    Effect.logWarning(
      "DataForSEO returned no spam scores for a lookup, so the figures of this lookup have no spam scores. If this message repeats, run 'authority doctor'.",
      error.message,
    ),
    Option.none(),
  )

// Returns the figures in the vendor's items, keyed by the domain or URL that was sent to the
// vendor. Skips items that cannot be decoded.
const figures = <I>(Item: Schema.Schema<Figure, I>) => {
  const decode = Schema.decodeUnknownOption(Item)
  return (items: ReadonlyArray<unknown>): Figures =>
    new Map(
      items.flatMap((item) =>
        Option.toArray(decode(item)).map(({ figure, target }) => [nameOf(target), figure]),
      ),
    )
}

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
// limits.
const reasonOf = (code: number): ProviderError["reason"] =>
  code === 40202 || code === 40209 ? "Throttled" : VendorHttp.reasonOf(Math.floor(code / 100))

// Schemas of DataForSEO's answers.

const Status = {
  status_code: Schema.Number,
  status_message: Schema.optionalWith(Schema.String, { nullable: true }),
}

const Body = Schema.Struct({
  ...Status,
  tasks: Schema.optionalWith(
    Schema.Array(
      Schema.Struct({
        ...Status,
        result: Schema.NullishOr(
          Schema.Array(Schema.Struct({ items: Schema.NullishOr(Schema.Array(Schema.Unknown)) })),
        ),
      }),
    ),
    { nullable: true, default: () => [] },
  ),
})

const decodeBody = TypeGuard.decoder(Body)

interface Figure {
  readonly target: string
  readonly figure: number
}

const Rank = Schema.Struct({
  target: Schema.String,
  figure: Schema.propertySignature(Score).pipe(Schema.fromKey("rank")),
})

const SpamScore = Schema.Struct({
  target: Schema.String,
  figure: Schema.propertySignature(Score).pipe(Schema.fromKey("spam_score")),
})
