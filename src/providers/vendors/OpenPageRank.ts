/**
 * Open PageRank: a free figure for each registered domain. Source: captured answers of September
 * 2026, after Open PageRank had moved to Keywords Everywhere.
 *
 * A page gets the authority of its registered domain, and its outcome names this domain in `of`.
 * The scale is logarithmic, 0 to 10; the figures are multiplied by ten.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../../database/rows/TypeGuard.ts"
import { checkedFrom, type Outcome, providerFailed } from "../../check/Metrics.ts"
import type { Target } from "../../check/Target.ts"
import { type Adapter, required, Vendor } from "../Vendor.ts"
import * as VendorHttp from "./VendorHttp.ts"

export const layer = (options: {
  readonly url: string
  readonly key: Redacted.Redacted
}): Layer.Layer<Vendor> => {
  const key = Redacted.value(options.key)
  const http = VendorHttp.make({
    provider: "open-page-rank",
    url: options.url,
    secrets: { authorization: Redacted.make(`Bearer ${key}`) },
    // The vendor's only limit is the monthly quota.
    reasonOf429: "Exhausted",
  })
  // The former service answers 403 to every key, and the new service refuses the old keys.
  const isFormer = /\/getPageRank\/?$/i.test(options.url) || !key.startsWith("opr_live_")

  const call: VendorHttp.Call = Effect.fnUntraced(function* (targets) {
    const domains = [...new Set(targets.map(({ domain }) => domain))]
    const json = { domains, include_history: false }
    const response = yield* http.send({ url: options.url, json })
    if (isFormer && (response.status === 401 || response.status === 403)) {
      return yield* http.error("Refused", `HTTP ${response.status}, ${moved}`, response)
    }
    const { as_of, invalid, results } = yield* http.decode(response, decodeBody, [
      "as_of",
      "count",
      "results",
      "invalid",
    ])
    const { misfit, values } = http.decodeAll(results, named)
    const items = new Map(values)
    const refused = new Set(invalid)
    const absent = misfit === undefined ? missing : unreadable(misfit)
    const outcomes = targets.map((target) => {
      const item = items.get(target.domain)
      if (item !== undefined) return outcomeOf(target, item, as_of, http)
      return refused.has(target.domain) ? notADomain : absent
    })
    return { outcomes, rows: domains.length, cost: undefined }
  })

  return Layer.succeed(Vendor, http.vendor({ batchSize: 100, call, status: Effect.succeed({}) }))
}

export const adapter: Adapter = {
  fromSettings: (settings) =>
    Effect.map(required(settings, "openPageRankKey"), (key) =>
      layer({ url: settings.openPageRankUrl, key }),
    ),
  price: "one domain of the quota",
  gives: ["as_of"],
  hasNoFreeCall: true,
}

const moved =
  "Open PageRank moved: get a key at https://openpagerank.keywordseverywhere.com, and remove AUTHORITY_OPEN_PAGE_RANK_URL if it is set"

const notADomain = providerFailed("Open PageRank does not take the name for a domain", "unknown")
const missing = providerFailed("Open PageRank's answer does not contain the domain")

const unreadable = (what: string) =>
  providerFailed(`Open PageRank's answer cannot be read: ${what}`)

const named = (item: unknown) =>
  Either.map(decodeNamed(item), ({ domain }) => [domain.toLowerCase(), item] as const)

const outcomeOf = (
  { domain, host }: Target,
  item: unknown,
  index: string | undefined,
  { misfit }: VendorHttp.VendorHttp,
): Outcome =>
  Either.match(rankOf(item), {
    onLeft: (issue) => unreadable(misfit(issue)),
    onRight: (rank) => {
      if (rank === undefined) {
        return providerFailed("Open PageRank does not know the domain", "unknown")
      }
      return checkedFrom(metricsOf(rank), { index, of: domain === host ? undefined : domain })
    },
  })

const metricsOf = (rank: number) => {
  // Ten times 5.77 is 57.699999999999996, so round to the vendor's two decimals.
  const authority = Math.round(rank * 1000) / 100
  return { domainAuthority: authority, pageAuthority: authority }
}

const rankOf = (item: unknown) =>
  Either.flatMap(decodeFound(item), ({ found }) =>
    found
      ? Either.map(decodeRank(item), ({ open_page_rank }) => open_page_rank)
      : Either.right(undefined),
  )

const Body = Schema.Struct({
  as_of: Schema.optional(Schema.String),
  results: Schema.Array(Schema.Unknown),
  invalid: Schema.optionalWith(Schema.Array(Schema.Unknown), { default: () => [] }),
})

const decodeBody = TypeGuard.decoder(Body)

const decodeNamed = TypeGuard.decoder(Schema.Struct({ domain: Schema.String }))

const decodeFound = TypeGuard.decoder(Schema.Struct({ found: Schema.Boolean }))

const Rank = Schema.Number.pipe(Schema.between(0, 10))

const decodeRank = TypeGuard.decoder(Schema.Struct({ open_page_rank: Rank }))
