/** A fake of Open PageRank, written from its public reference. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as OpenPageRank from "../../src/providers/OpenPageRank.ts"
import * as FakeVendor from "./FakeVendor.ts"
import { figure } from "./fakeFigure.ts"

export const key = "an-opr-key-for-tests"

/** A domain that the fake does not know. */
export const unknown = "unknown.com"

/** The fake's rank of a domain, from 0 to 10. */
export const rank = (domain: string) => figure(domain, "domain") / 10

export const make = Effect.gen(function* () {
  const vendor = yield* FakeVendor.make(({ url }) => {
    const domains = new URL(url, "http://localhost").searchParams.getAll("domains[]")
    return {
      status: 200,
      body: JSON.stringify({
        status_code: 200,
        response: domains.map(itemFor),
        last_updated: "28th Mar 2026",
      }),
    }
  })
  return Object.assign(vendor, {
    asked: () =>
      vendor.calls.map(({ url }) =>
        new URL(url, "http://localhost").searchParams.getAll("domains[]"),
      ),
    layer: OpenPageRank.layer({
      url: `${vendor.address}/api/v1.0/getPageRank`,
      key: Redacted.make(key),
    }),
  })
})

/**
 * A fault: replaces fields in the entry of one domain in the fake's answer with those of `change`.
 */
export const item = (domain: string, change: object) =>
  FakeVendor.rewrite("item", (json) => {
    const answer = Schema.decodeUnknownSync(Answer)(json)
    return {
      ...answer,
      response: answer.response.map((item) =>
        item.domain === domain ? { ...item, ...change } : item,
      ),
    }
  })

const itemFor = (domain: string) =>
  domain === unknown
    ? {
        status_code: 404,
        error: "Domain not found",
        page_rank_integer: 0,
        page_rank_decimal: 0,
        rank: null,
        domain,
      }
    : {
        status_code: 200,
        error: "",
        page_rank_integer: Math.round(rank(domain)),
        page_rank_decimal: rank(domain),
        rank: "40",
        domain,
      }

const Answer = Schema.Struct({
  status_code: Schema.Number,
  response: Schema.Array(
    Schema.Struct(
      { domain: Schema.String },
      Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    ),
  ),
})
