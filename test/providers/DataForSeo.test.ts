import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Outcome } from "../../src/check/Metrics.ts"
import * as FakeDataForSeo from "../support/FakeDataForSeo.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { answer, ask } from "../support/askVendor.ts"
import { tags } from "../support/lookup.ts"

const { rank, spamScore } = FakeDataForSeo

const checked = (domain: string, url: string) =>
  Outcome.Checked({
    metrics: {
      domainAuthority: rank(domain),
      pageAuthority: rank(url),
      spamScore: spamScore(domain),
    },
  })

it.scoped(
  "DataForSEO gets one call for the ranks of domains and pages, and one call for spam scores",
  () =>
    Effect.gen(function* () {
      const seo = yield* FakeDataForSeo.make
      assert.deepStrictEqual(yield* ask(seo, "www.example.com", "example.com/a"), [
        checked("example.com", "https://www.example.com/"),
        checked("example.com", "https://example.com/a"),
      ])
      const calls = seo.calls.toSorted((a, b) => (a.url < b.url ? -1 : 1))
      const credentials = `${FakeDataForSeo.login}:${FakeDataForSeo.password}`
      const headers = { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` }
      for (const call of calls) assert.containSubset(call, { headers })
      assert.deepStrictEqual(
        calls.map(({ json, url }) => ({ json, url })),
        [
          {
            url: "/v3/backlinks/bulk_ranks/live",
            json: [
              {
                targets: ["example.com", "https://www.example.com/", "https://example.com/a"],
                rank_scale: "one_hundred",
              },
            ],
          },
          {
            url: "/v3/backlinks/bulk_spam_score/live",
            json: [{ targets: ["example.com"] }],
          },
        ],
      )
    }),
)

it.scoped(
  "DataForSEO's figures of a domain are not mixed up with the figures of its home page",
  () =>
    Effect.gen(function* () {
      const seo = yield* FakeDataForSeo.make
      assert.notStrictEqual(rank("example.com"), rank("https://example.com/"))
      assert.deepStrictEqual(yield* ask(seo, "example.com"), [
        checked("example.com", "https://example.com/"),
      ])
    }),
)

it.scoped("a target that is missing from DataForSEO's answer fails", () =>
  Effect.gen(function* () {
    const seo = yield* FakeDataForSeo.make
    assert.deepStrictEqual(tags(yield* ask(seo, FakeDataForSeo.unknown, "example.com")), [
      "PROVIDER_ERROR",
      "ok",
    ])
  }),
)

/** Applies the fault only to calls whose URL contains `path`. */
const only = (path: string, fault: FakeVendor.Fault): FakeVendor.Fault => ({
  name: fault.name,
  apply: (response, reply, call) =>
    (call.url.includes(path) ? fault : FakeVendor.none).apply(response, reply, call),
})

it.scoped("figures from DataForSEO have no spam score when the call for spam scores fails", () =>
  Effect.gen(function* () {
    const seo = yield* FakeDataForSeo.make
    seo.always(only("spam", FakeVendor.unavailable))
    assert.deepStrictEqual(yield* ask(seo, "example.com"), [
      Outcome.Checked({
        metrics: {
          domainAuthority: rank("example.com"),
          pageAuthority: rank("https://example.com/"),
        },
        isPartial: true,
      }),
    ])
  }),
)

it.scoped("a lookup of DataForSEO costs what its two answers say, as far as they say it", () =>
  Effect.gen(function* () {
    const seo = yield* FakeDataForSeo.make
    const costs = Effect.map(answer(seo, "example.com", "example.org"), ({ cost, rows }) => [
      cost,
      rows,
    ])
    assert.deepStrictEqual(yield* costs, [0.0406, 2])
    seo.always(only("spam", FakeVendor.unavailable))
    assert.deepStrictEqual(yield* costs, [0.0203, 2])
    seo.always(
      FakeVendor.rewrite("no cost", (json) =>
        JSON.parse(JSON.stringify(json).replaceAll("0.0203", '"free"')),
      ),
    )
    assert.deepStrictEqual(yield* costs, [undefined, 2])
  }),
)
