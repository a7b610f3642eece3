import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Outcome } from "../../src/check/Metrics.ts"
import * as FakeMozLinksV2 from "../support/FakeMozLinksV2.ts"
import { ask } from "../support/askVendor.ts"
import { tags } from "../support/lookup.ts"

const checked = (page: string) => Outcome.Checked({ metrics: FakeMozLinksV2.figures(page) })

const urls = ["example.com/a", "example.com/b", "example.com/c"] as const

it.scoped("Moz Links v2 gets targets without a scheme, and the token in a header", () =>
  Effect.gen(function* () {
    const moz = yield* FakeMozLinksV2.make
    assert.deepStrictEqual(
      yield* ask(moz, "https://example.com", ...urls),
      ["example.com/", ...urls].map(checked),
    )
    assert.lengthOf(moz.calls, 1)
    assert.containSubset(moz.calls[0], {
      method: "POST",
      url: "/v2/url_metrics",
      headers: { "x-moz-token": FakeMozLinksV2.token },
    })
    assert.deepStrictEqual(moz.calls[0]?.json, { targets: ["example.com/", ...urls] })
  }),
)

it.scoped(
  "the access id and secret of a Moz account from before March 2024 are sent to Moz Links v2 as HTTP Basic authentication",
  () =>
    Effect.gen(function* () {
      const moz = yield* FakeMozLinksV2.make
      yield* ask({ layer: moz.layerWith("mozscape-1:secret") }, "example.com")
      assert.containSubset(moz.calls[0]?.headers, {
        authorization: `Basic ${Buffer.from("mozscape-1:secret").toString("base64")}`,
      })
      assert.notProperty(moz.calls[0]?.headers, "x-moz-token")
    }),
)

it.scoped("a Moz Links v2 answer with a wrong number of results is reported as Malformed", () =>
  Effect.gen(function* () {
    const moz = yield* FakeMozLinksV2.make
    moz.script(
      FakeMozLinksV2.results((items) => items.slice(1)),
      FakeMozLinksV2.results((items) => [...items, ...items]),
    )
    const errors = yield* Effect.replicateEffect(Effect.flip(ask(moz, ...urls)), 2)
    assert.deepStrictEqual(
      errors.map(({ reason }) => reason),
      ["Malformed", "Malformed"],
    )
  }),
)

it.scoped(
  "Moz Links v2 results that are swapped, duplicated or of another domain are not used",
  () =>
    Effect.gen(function* () {
      const moz = yield* FakeMozLinksV2.make
      moz.script(
        FakeMozLinksV2.results(([first = {}, second = {}]) => [second, first]),
        FakeMozLinksV2.results(([first = {}]) => [first, first]),
        FakeMozLinksV2.results(([, second = {}]) => [
          { ...second, page: "other.example/" },
          second,
        ]),
      )
      const errors = yield* Effect.replicateEffect(
        Effect.flip(ask(moz, "a.example.com", "b.example.org")),
        3,
      )
      assert.deepStrictEqual(
        errors.map(({ reason }) => reason),
        ["Malformed", "Malformed", "Malformed"],
      )
    }),
)

it.scoped("a malformed Moz Links v2 result fails only its target", () =>
  Effect.gen(function* () {
    const moz = yield* FakeMozLinksV2.make
    moz.script(FakeMozLinksV2.results(([first, ...rest]) => [first, null, ...rest.slice(1)]))
    assert.deepStrictEqual(tags(yield* ask(moz, ...urls)), ["ok", "PROVIDER_ERROR", "ok"])
  }),
)

it.scoped("a Moz Links v2 call with a bad target is reported as Rejected", () =>
  Effect.gen(function* () {
    const moz = yield* FakeMozLinksV2.make
    const error = yield* Effect.flip(ask(moz, "example.com", FakeMozLinksV2.refused))
    assert.containSubset(error, { provider: "moz-links-v2", reason: "Rejected" })
  }),
)
