/** Tests what each adapter reports when its vendor fails, and that its next call works. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import * as Http from "../../src/providers/vendors/Http.ts"
import type { Vendor } from "../../src/providers/Vendor.ts"
import * as FakeDataForSeo from "../support/FakeDataForSeo.ts"
import * as FakeMozLinksV2 from "../support/FakeMozLinksV2.ts"
import * as FakeOpenPageRank from "../support/FakeOpenPageRank.ts"
import { ask } from "../support/askVendor.ts"
import { tags } from "../support/lookup.ts"

const { rpcError, rpcFailure } = FakeMoz
const { answer, rewrite } = FakeVendor

const http = Effect.gen(function* () {
  const figures = { url: "https://example.com/", domainAuthority: 1, pageAuthority: 2 }
  const body = JSON.stringify({ results: [figures] })
  const vendor = yield* FakeVendor.make(() => ({ status: 200, body }))
  const layer = Http.layer({ url: vendor.address, token: Redacted.make("a-token-for-tests") })
  return { ...vendor, layer }
})

interface Fake {
  readonly layer: Layer.Layer<Vendor>
  readonly always: (fault: FakeVendor.Fault | undefined) => void
}

type Failures = typeof FakeVendor.failures

/**
 * For each vendor: its name, its fake, the failures peculiar to its protocol and, optionally, a
 * substring of the path; only calls whose path contains it fail.
 */
const vendors: ReadonlyArray<
  readonly [name: string, Effect.Effect<Fake, unknown, Scope.Scope>, own: Failures, path?: string]
> = [
  [
    "moz",
    FakeMoz.make,
    [
      ["Malformed", rewrite("wrong JSON-RPC id", (json) => ({ ...Object(json), id: "another" }))],
      ["Malformed", rewrite("result without a list", (json) => ({ ...Object(json), result: {} }))],
      ["Rejected", rpcFailure(400, rpcError(-32652, 400, "param-is-missing"))],
      ["Rejected", rpcFailure(200, rpcError(-32652, 400, "param-is-missing"))],
      ["Rejected", rpcFailure(200, { code: -32600, httpStatus: 400, message: "Invalid Request" })],
      ["Rejected", rpcFailure(200, { code: -32601, message: "Method not found" })],
      ["Refused", rpcFailure(401, rpcError(-32651, 401, "auth-failed"))],
      ["Throttled", rpcFailure(200, rpcError(-32000, 429, "slow-down"))],
      ["Exhausted", rpcFailure(402, rpcError(-32653, 402, "pay"))],
      ["Rejected", rpcFailure(400, rpcError(-32653, 400, "https://example.com/quota-exceeded"))],
      ["Unavailable", rpcFailure(200, { code: -32000, message: "Row quota is used up" })],
      ["Unavailable", rpcFailure(500, rpcError(-32602, 500, "quota"))],
      ["Unavailable", rpcFailure(500, { code: -32602, message: "unexpected" })],
      ["Unavailable", rpcFailure(200, { code: -32602, message: "unexpected" })],
      ["Unavailable", rpcFailure(200, rpcError(-32602, 500, "unexpected"))],
    ],
  ],
  ["moz-links-v2", FakeMozLinksV2.make, []],
  ["open-page-rank", FakeOpenPageRank.make, [["Exhausted", answer(429, "")]]],
  [
    "dataforseo",
    FakeDataForSeo.make,
    [
      ["Refused", FakeDataForSeo.failure("call", 40100)],
      ["Rejected", FakeDataForSeo.failure("task", 40501)],
      ["Refused", FakeDataForSeo.failure("call", 40204)],
      ["Throttled", FakeDataForSeo.failure("call", 40202)],
      ["Throttled", FakeDataForSeo.failure("task", 40209)],
      ["Throttled", answer(402, `{"status_code":40202,"status_message":"Rate limit."}`)],
      ["Exhausted", answer(402, `{"status_code":40200,"status_message":"Pay."}`)],
      ["Exhausted", FakeDataForSeo.failure("task", 40203)],
      ["Exhausted", FakeDataForSeo.failure("call", 40210)],
      ["Unavailable", FakeDataForSeo.failure("task", 50000)],
    ],
    "ranks",
  ],
  [
    "http",
    http,
    [
      ["Refused", answer(401, `{"message":"the token is wrong"}`)],
      ["Exhausted", answer(402, `{"message":"the subscription is spent"}`)],
      ["Refused", answer(401, "No credits are left")],
      ["Refused", answer(403, `{"error":{"type":"insufficient_quota"}}`)],
      ["Throttled", answer(429, `{"message":"Monthly quota exceeded"}`)],
      ["Rejected", answer(400, `{"message":"bad: https://example.com/quota/billing"}`)],
      ["Rejected", answer(422, "")],
      ["Malformed", answer(200, `{"index":7,"results":[]}`)],
      ["Malformed", answer(200, `{"results":{}}`)],
    ],
  ],
]

for (const [provider, make, own, path = ""] of vendors) {
  describe(`a failed call to ${provider}`, () => {
    for (const [reason, fault] of [...FakeVendor.failures, ...own]) {
      it.scoped(`${fault.name} is ${reason}, and the next call works`, () =>
        Effect.gen(function* () {
          const vendor = yield* make
          const well = yield* ask(vendor, "example.com")
          assert.deepStrictEqual(tags(well), ["ok"])
          vendor.always({
            name: fault.name,
            apply: (response, reply, call) =>
              (call.url.includes(path) ? fault : FakeVendor.none).apply(response, reply, call),
          })
          const error = yield* Effect.flip(ask(vendor, "example.com"))
          assert.containSubset(error, { _tag: "ProviderError", provider, reason })
          vendor.always(undefined)
          assert.deepStrictEqual(yield* ask(vendor, "example.com"), well)
        }),
      )
    }
  })
}
