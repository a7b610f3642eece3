import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Outcome } from "../../src/Metrics.ts"
import * as FakeOpenPageRank from "../../scripts/support/FakeOpenPageRank.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { lookup, tags } from "../support/lookup.ts"

const checked = (domain: string) => {
  const authority = Math.round(FakeOpenPageRank.rank(domain) * 1000) / 100
  return Outcome.Checked({ metrics: { domainAuthority: authority, pageAuthority: authority } })
}

it.scoped(
  "each domain is sent to Open PageRank once, and the domain's rank is used for all pages of the domain",
  () =>
    Effect.gen(function* () {
      const opr = yield* FakeOpenPageRank.make
      assert.deepStrictEqual(
        yield* lookup(opr, "example.co.uk/a", "https://www.example.co.uk", "example.org"),
        ["example.co.uk", "example.co.uk", "example.org"].map(checked),
      )
      assert.deepStrictEqual(opr.asked(), [["example.co.uk", "example.org"]])
      assert.containSubset(opr.calls[0], {
        method: "GET",
        headers: { "api-opr": FakeOpenPageRank.key },
      })
    }),
)

it.scoped(
  "a domain that Open PageRank does not know gets the failure PROVIDER_ERROR, not the authority 0",
  () =>
    Effect.gen(function* () {
      const opr = yield* FakeOpenPageRank.make
      assert.deepStrictEqual(tags(yield* lookup(opr, FakeOpenPageRank.unknown, "example.org")), [
        "PROVIDER_ERROR",
        "ok",
      ])
    }),
)

for (const change of [
  { page_rank_decimal: "" },
  { page_rank_decimal: 10.1 },
  { page_rank_decimal: null },
  { domain: "example.net" },
  { domain: 7 },
  { status_code: "200" },
]) {
  it.scoped(`an Open PageRank item with ${JSON.stringify(change)} fails only its domain`, () =>
    Effect.gen(function* () {
      const opr = yield* FakeOpenPageRank.make
      opr.script(FakeOpenPageRank.item("example.com", change))
      assert.deepStrictEqual(tags(yield* lookup(opr, "example.com", "example.org")), [
        "PROVIDER_ERROR",
        "ok",
      ])
    }),
  )
}

it.scoped("an Open PageRank of 5.77 is the authority 57.7, without a rounding error", () =>
  Effect.gen(function* () {
    const opr = yield* FakeOpenPageRank.make
    opr.script(FakeOpenPageRank.item("example.com", { page_rank_decimal: 5.77 }))
    const metrics = { domainAuthority: 57.7, pageAuthority: 57.7 }
    assert.deepStrictEqual(yield* lookup(opr, "example.com"), [Outcome.Checked({ metrics })])
  }),
)

it.scoped("an error status in the body of an Open PageRank answer fails the call", () =>
  Effect.gen(function* () {
    const opr = yield* FakeOpenPageRank.make
    opr.script(FakeVendor.answer(200, `{"status_code":429,"error":"slow down"}`))
    assert.containSubset(yield* Effect.flip(lookup(opr, "example.com")), { reason: "Throttled" })
  }),
)

for (const [reason, fault] of FakeVendor.failures) {
  it.scoped(
    `the Open PageRank fault "${fault.name}" is reported as ${reason}, and the next call works`,
    () =>
      Effect.gen(function* () {
        const opr = yield* FakeOpenPageRank.make
        opr.script(fault)
        const error = yield* Effect.flip(lookup(opr, "example.com"))
        assert.containSubset(error, { provider: "open-page-rank", reason })
        assert.deepStrictEqual(yield* lookup(opr, "example.com"), [checked("example.com")])
      }),
  )
}
