import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { checkedFrom, type Outcome } from "../../src/check/Metrics.ts"
import * as FakeOpenPageRank from "../support/FakeOpenPageRank.ts"
import { answer, ask } from "../support/askVendor.ts"
import { tags } from "../support/lookup.ts"

const checked = (domain: string, of?: string) => {
  const authority = Math.round(FakeOpenPageRank.rank(domain) * 1000) / 100
  const metrics = { domainAuthority: authority, pageAuthority: authority }
  return checkedFrom(metrics, { index: FakeOpenPageRank.index, of })
}

const causes = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map((outcome) => (outcome._tag === "Checked" ? "ok" : outcome.cause))

it.scoped(
  "each domain is sent to Open PageRank once, and a subdomain's outcome names the domain whose rank it is",
  () =>
    Effect.gen(function* () {
      const opr = yield* FakeOpenPageRank.make
      assert.deepStrictEqual(
        yield* ask(opr, "example.co.uk/a", "https://www.example.co.uk", "example.org"),
        [
          checked("example.co.uk"),
          checked("example.co.uk", "example.co.uk"),
          checked("example.org"),
        ],
      )
      assert.deepStrictEqual(opr.asked(), [["example.co.uk", "example.org"]])
      assert.containSubset(opr.calls[0], {
        method: "POST",
        headers: { authorization: `Bearer ${FakeOpenPageRank.key}` },
      })
    }),
)

it.scoped(
  "a domain that Open PageRank does not know is reported as unknown, not as an authority of 0",
  () =>
    Effect.gen(function* () {
      const opr = yield* FakeOpenPageRank.make
      assert.deepStrictEqual(causes(yield* ask(opr, FakeOpenPageRank.unknown, "example.org")), [
        "unknown",
        "ok",
      ])
    }),
)

it.scoped("a domain that Open PageRank calls invalid is reported as unknown", () =>
  Effect.gen(function* () {
    const opr = yield* FakeOpenPageRank.make
    opr.script(FakeOpenPageRank.body({ results: [], invalid: ["example.com", { other: 1 }] }))
    assert.deepStrictEqual(causes(yield* ask(opr, "example.com", "example.org")), [
      "unknown",
      "failed",
    ])
  }),
)

it.scoped(
  "an Open PageRank answer without `as_of` and `invalid` gives figures without an index",
  () =>
    Effect.gen(function* () {
      const opr = yield* FakeOpenPageRank.make
      opr.script(FakeOpenPageRank.body({ as_of: undefined, invalid: undefined }))
      const [outcome] = yield* ask(opr, "example.com")
      assert.hasAllKeys(outcome, ["_tag", "metrics"])
    }),
)

for (const former of [{ path: "/api/v1.0/getPageRank" }, { key: "a-key-of-the-former-service" }]) {
  it.scoped(`with ${JSON.stringify(former)}, the error says that Open PageRank moved`, () =>
    Effect.gen(function* () {
      const opr = yield* FakeOpenPageRank.make
      const error = yield* Effect.flip(ask(opr.former(former), "example.com"))
      assert.strictEqual(error.reason, "Refused")
      assert.match(error.message, /Open PageRank moved: get a key at https:/)
    }),
  )
}

for (const change of [
  { open_page_rank: "" },
  { open_page_rank: 10.1 },
  { open_page_rank: null },
  { domain: "example.net" },
  { domain: 7 },
  { found: null },
]) {
  it.scoped(`an Open PageRank item with ${JSON.stringify(change)} fails only its domain`, () =>
    Effect.gen(function* () {
      const opr = yield* FakeOpenPageRank.make
      opr.script(FakeOpenPageRank.item("example.com", change))
      assert.deepStrictEqual(tags(yield* ask(opr, "example.com", "example.org")), [
        "PROVIDER_ERROR",
        "ok",
      ])
    }),
  )
}

it.scoped("Open PageRank bills a row for each domain, even for one that it does not know", () =>
  Effect.gen(function* () {
    const opr = yield* FakeOpenPageRank.make
    const urls = ["example.com/a", "example.com/b", FakeOpenPageRank.unknown]
    const { cost, rows } = yield* answer(opr, ...urls)
    assert.deepStrictEqual({ cost, rows }, { cost: undefined, rows: 2 })
  }),
)
