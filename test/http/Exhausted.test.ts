/** A chain of two vendors on real ports while the quota of the first one is used up. */
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as memory from "../support/memory.ts"
import * as Composed from "../../src/providers/Composed.ts"
import * as FakeDataForSeo from "../support/FakeDataForSeo.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import type { Vendor } from "../../src/providers/Vendor.ts"
import { start } from "../support/TestServer.ts"

const bought = ({ layer }: { readonly layer: Layer.Layer<Vendor> }) =>
  Composed.decorated(layer, {
    timeout: "10 seconds",
    concurrency: 4,
    cache: { ttl: Duration.hours(24), capacity: 1000 },
  }).pipe(Layer.provide([memory.metricsCache, memory.costs]))

describe("a chain of two vendors", () => {
  it.scopedLive("an exhausted vendor fails no URL, and is asked again when its period ends", () =>
    Effect.gen(function* () {
      const [seo, moz] = [yield* FakeDataForSeo.make, yield* FakeMoz.make]
      const provider = Composed.chain([bought(seo), bought(moz)])
      const { check, log, send } = yield* start({ provider })
      const circuits = Effect.map(send({ path: "/health/ready" }), ({ status, text }) => {
        assert.strictEqual(status, 200)
        return JSON.parse(text).parts.circuits
      })
      const gauge = Effect.map(
        send({ path: "/metrics" }),
        ({ text }) => /authority_provider_exhausted\{provider="dataforseo"\} (\d)/.exec(text)?.[1],
      )
      let names = 0
      const checkMany = Effect.forEach(
        Arr.range(1, 10),
        () =>
          Effect.map(check([`${names++}.example.com`, `${names++}.example.org/a`]), ({ text }) =>
            assert.lengthOf(JSON.parse(text).data.successUrls, 2, text),
          ),
        { concurrency: "unbounded" },
      )
      yield* checkMany
      assert.strictEqual(moz.rows(), 0)

      seo.always(FakeVendor.answer(402, `{"status_code":40210}`, { "retry-after": "4" }))
      yield* checkMany
      const asked = seo.calls.length
      for (let i = 0; i < 2; i++) yield* checkMany
      assert.strictEqual(seo.calls.length, asked)
      assert.strictEqual(moz.rows(), 60)
      assert.deepStrictEqual(yield* circuits, {
        dataforseo: "exhausted: its quota is used up",
        moz: "closed",
      })
      assert.strictEqual(yield* gauge, "1")

      yield* Effect.sleep("4 seconds")
      yield* checkMany
      assert.isAbove(seo.calls.length, asked)
      seo.always(undefined)
      yield* Effect.sleep("4 seconds")
      yield* checkMany
      const rows = moz.rows()
      yield* checkMany
      assert.strictEqual(moz.rows(), rows)
      assert.deepStrictEqual(yield* circuits, { dataforseo: "closed", moz: "closed" })
      assert.strictEqual(yield* gauge, "0")
      assert.lengthOf(
        log.filter((line) => line.includes("A provider is exhausted")),
        1,
      )
      assert.isEmpty(log.filter((line) => line.includes("A call to the provider failed")))
    }),
  )
})
