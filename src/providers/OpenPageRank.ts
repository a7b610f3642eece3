/**
 * Open PageRank: a free figure for each registered domain. Source: the public reference of Open
 * PageRank.
 *
 * The API has figures for domains only, so a page gets the authority of its domain. There is no
 * spam score. The PageRank scale is logarithmic, 0 to 10 with two decimals; this module multiplies
 * the figures by ten. The figures measure links, but differ from the domain authority of other
 * vendors.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../schema/TypeGuard.ts"
import { Outcome, providerFailed } from "../Metrics.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import type { Ask } from "./Chunks.ts"
import { vendor } from "./vendor.ts"
import * as VendorHttp from "./VendorHttp.ts"

const batchSize = 100

/** `url` is the URL of `getPageRank`. `key` goes into the header `api-opr`. */
export const layer = (options: {
  readonly url: string
  readonly key: Redacted.Redacted
}): Layer.Layer<MetricsProvider> => {
  const http = VendorHttp.make({
    provider: "open-page-rank",
    url: options.url,
    secrets: { "api-opr": options.key },
  })

  const lookup: Ask = Effect.fnUntraced(function* (targets) {
    const domains = new Set(targets.map(({ domain }) => domain))
    const query = new URLSearchParams()
    for (const domain of domains) query.append("domains[]", domain)
    const response = yield* http.send({ url: `${options.url}?${query}` })
    const { response: items, status_code } = yield* http.decode(response, decodeBody)
    if (status_code !== 200) {
      return yield* http.error(VendorHttp.reasonOf(status_code), `status ${status_code}`, response)
    }
    const outcomes = new Map(items.flatMap((item) => Option.toArray(answerOf(item, http))))
    return targets.map(
      ({ domain }) =>
        outcomes.get(domain) ??
        providerFailed("Open PageRank's answer does not contain the domain"),
    )
  })

  return vendor({ name: "open-page-rank", batchSize, lookup })
}

/** Returns the domain and the outcome of an item; none when the item has no domain. */
const answerOf = (
  item: unknown,
  { quote }: VendorHttp.VendorHttp,
): Option.Option<readonly [domain: string, Outcome]> =>
  Option.map(decodeNamed(item), ({ domain, status_code }) => [
    domain.toLowerCase(),
    status_code === 200
      ? Either.match(decodeRanked(item), {
          onLeft: ({ message }) =>
            providerFailed(`Open PageRank's figure cannot be read: ${quote(message)}`),
          onRight: ({ page_rank_decimal }) => checked(Math.round(page_rank_decimal * 1000) / 100),
        })
      : providerFailed(`Open PageRank answered with the status ${status_code}`),
  ])

const checked = (authority: number) =>
  Outcome.Checked({ metrics: { domainAuthority: authority, pageAuthority: authority } })

// Schemas of Open PageRank's answers.

const Body = Schema.Struct({
  status_code: Schema.Number,
  response: Schema.optionalWith(Schema.Array(Schema.Unknown), { default: () => [] }),
})

const decodeBody = TypeGuard.decoder(Body)

const decodeNamed = Schema.decodeUnknownOption(
  Schema.Struct({ domain: Schema.String, status_code: Schema.Number }),
)

// Decodes the figure of an item with the status 200. Do not decode the figure of an item with the
// status 404: there it is 0 or an empty string.
const decodeRanked = Schema.decodeUnknownEither(
  Schema.Struct({ page_rank_decimal: Schema.Number.pipe(Schema.between(0, 10)) }),
)
