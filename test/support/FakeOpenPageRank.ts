/** A fake of Open PageRank, written from a captured answer. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as OpenPageRank from "../../src/providers/vendors/OpenPageRank.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { figure } from "../../scripts/support/fakeFigure.ts"

export const key = "opr_live_for_tests"

/** The date of the fake's index. */
export const index = "2026-09-01"

/** A domain that the fake does not know. */
export const unknown = "unknown.com"

/** The fake's rank of a domain, from 0 to 10. */
export const rank = (domain: string) => figure(domain, "domain") / 10

export const make = Effect.gen(function* () {
  const vendor = yield* FakeVendor.make(({ headers, json, url }) => {
    // The fake answers like the former service, which refuses every key.
    if (url !== path || headers.authorization !== `Bearer ${key}`) return refused
    const { domains } = Schema.decodeUnknownSync(Request)(json)
    const results = domains.map(itemFor)
    const body = { as_of: index, count: results.length, results, invalid: [] }
    return { status: 200, body: JSON.stringify(body) }
  })
  const url = `${vendor.address}${path}`
  return Object.assign(vendor, {
    url,
    asked: () => vendor.calls.map(({ json }) => Schema.decodeUnknownSync(Request)(json).domains),
    layer: OpenPageRank.layer({ url, key: Redacted.make(key) }),
    /** The service's provider, configured with the former service's address or key. */
    former: (former: { readonly path?: string; readonly key?: string }) => ({
      layer: OpenPageRank.layer({
        url: `${vendor.address}${former.path ?? path}`,
        key: Redacted.make(former.key ?? key),
      }),
    }),
  })
})

const path = "/v1/domains/bulk"

const refused = { status: 403, body: `{"error":"Invalid API key"}` }

/** A fault: changes the fields of the answer. */
export const body = (change: object) =>
  FakeVendor.rewrite("body", (json) => ({ ...Schema.decodeUnknownSync(Answer)(json), ...change }))

/**
 * A fault: replaces fields in the entry of one domain in the fake's answer with those of `change`.
 */
export const item = (domain: string, change: object) =>
  FakeVendor.rewrite("item", (json) => {
    const answer = Schema.decodeUnknownSync(Answer)(json)
    return {
      ...answer,
      results: answer.results.map((item) =>
        item.domain === domain ? { ...item, ...change } : item,
      ),
    }
  })

const itemFor = (domain: string) =>
  domain === unknown
    ? { domain, found: false, open_page_rank: null, rank: null, referring_domains: null }
    : { domain, found: true, open_page_rank: rank(domain), rank: 40, referring_domains: 7 }

const Request = Schema.Struct({
  domains: Schema.Array(Schema.String),
  include_history: Schema.Literal(false),
})

const anything = Schema.Record({ key: Schema.String, value: Schema.Unknown })

const Answer = Schema.Struct(
  { results: Schema.Array(Schema.Struct({ domain: Schema.String }, anything)) },
  anything,
)
