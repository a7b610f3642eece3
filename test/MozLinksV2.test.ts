import { describe, expect, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import { Outcome } from "../src/Metrics.ts"
import * as FakeMozLinksV2 from "./support/FakeMozLinksV2.ts"
import * as FakeVendor from "./support/FakeVendor.ts"
import { lookup, tags } from "./support/lookup.ts"

const checked = (page: string) => Outcome.Checked({ metrics: FakeMozLinksV2.figures(page) })

const urls = ["example.com/a", "example.com/b", "example.com/c"] as const

it.scoped("sends targets without a scheme and the token in a header", () =>
  Effect.gen(function* () {
    const moz = yield* FakeMozLinksV2.make
    expect(yield* lookup(moz, "https://example.com", ...urls)).toEqual(
      ["example.com/", ...urls].map(checked),
    )
    expect(moz.calls).toMatchObject([
      {
        method: "POST",
        url: "/v2/url_metrics",
        headers: { "x-moz-token": FakeMozLinksV2.token },
        json: { targets: ["example.com/", ...urls] },
      },
    ])
  }),
)

it.scoped("sends an old account's id and secret as HTTP Basic", () =>
  Effect.gen(function* () {
    const moz = yield* FakeMozLinksV2.make
    yield* lookup({ layer: moz.layerWith("mozscape-1:secret") }, "example.com")
    expect(moz.calls[0]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from("mozscape-1:secret").toString("base64")}`,
    })
    expect(moz.calls[0]?.headers).not.toHaveProperty("x-moz-token")
  }),
)

it.scoped("an answer with another number of results is malformed", () =>
  Effect.gen(function* () {
    const moz = yield* FakeMozLinksV2.make
    moz.script(
      FakeMozLinksV2.results((items) => items.slice(1)),
      FakeMozLinksV2.results((items) => [...items, ...items]),
    )
    const errors = yield* Effect.replicateEffect(Effect.flip(lookup(moz, ...urls)), 2)
    expect(errors.map(({ reason }) => reason)).toEqual(["Malformed", "Malformed"])
  }),
)

it.scoped("a malformed result fails only its target", () =>
  Effect.gen(function* () {
    const moz = yield* FakeMozLinksV2.make
    moz.script(FakeMozLinksV2.results(([first, ...rest]) => [first, null, ...rest.slice(1)]))
    expect(tags(yield* lookup(moz, ...urls))).toEqual(["ok", "PROVIDER_ERROR", "ok"])
  }),
)

describe("a refused call", () => {
  it.scoped("is split in halves until the bad target is found", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMozLinksV2.make
      const good = Arr.makeBy(49, (i) => `example.com/${i}`)
      const all = [...good.slice(0, 31), FakeMozLinksV2.refused, ...good.slice(31)]
      expect(tags(yield* lookup(moz, ...all))).toEqual(
        all.map((page) => (page === FakeMozLinksV2.refused ? "PROVIDER_ERROR" : "ok")),
      )
      expect(moz.rows()).toBe(49)
      const refusals = moz.asked().filter((pages) => pages.includes(FakeMozLinksV2.refused))
      expect(refusals.length).toBeLessThanOrEqual(7)
    }),
  )

  it.scoped("is not split without end when Moz refuses every target", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMozLinksV2.make
      moz.always(FakeVendor.answer(400, `{"message":"no"}`))
      const all = Arr.makeBy(50, (i) => `example.com/${i}`)
      expect(new Set(tags(yield* lookup(moz, ...all)))).toEqual(new Set(["PROVIDER_ERROR"]))
      expect(moz.calls.length).toBeLessThanOrEqual(14)
    }),
  )
})

for (const [reason, fault] of FakeVendor.failures) {
  it.scoped(`${fault.name}: ${reason}, and the next call is answered`, () =>
    Effect.gen(function* () {
      const moz = yield* FakeMozLinksV2.make
      moz.script(fault)
      const error = yield* Effect.flip(lookup(moz, ...urls))
      expect(error).toMatchObject({ provider: "moz-links-v2", reason })
      expect(yield* lookup(moz, ...urls)).toEqual(urls.map(checked))
    }),
  )
}
