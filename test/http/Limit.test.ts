import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { start } from "../support/TestServer.ts"

const urls = JSON.stringify({ urls: ["example.com", "localhost", "example.org", "example.com"] })
const limited = (credits: string) => ({ "x-max-credits": credits })

describe("a request with the header x-max-credits", () => {
  it.scopedLive("valid URLs above the limit get 402 and ask no provider, at it they pass", () =>
    Effect.gen(function* () {
      const { calls, layer } = make(succeeding)
      const server = yield* start({ provider: layer, price: 2 })
      const refused = yield* server.post(urls, limited("5"))
      assert.strictEqual(refused.status, 402)
      assert.deepStrictEqual(JSON.parse(refused.text), {
        success: false,
        message: "This request needs 6 credits and its limit in x-max-credits is 5.",
      })
      assert.strictEqual(calls.length, 0)
      const checked = yield* server.post(urls, limited("6"))
      assert.strictEqual(checked.status, 200)
      assert.strictEqual((yield* server.books).charged, 6)
      // The figures may be known now, and the limit holds nevertheless.
      assert.strictEqual((yield* server.post(urls, limited("5"))).status, 402)
    }),
  )

  it.scopedLive("a limit of 0 lets a request through that costs nothing", () =>
    Effect.gen(function* () {
      const server = yield* start()
      assert.strictEqual((yield* server.post('{"urls":["localhost"]}', limited("0"))).status, 200)
      assert.strictEqual((yield* server.post(urls, limited("0"))).status, 402)
    }),
  )

  it.scopedLive("a repeat is replayed whatever its limit, and a 402 leaves the key free", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const named = (credits: string) => ({ ...limited(credits), "idempotency-key": "one" })
      assert.strictEqual((yield* server.post(urls, named("1"))).status, 402)
      assert.strictEqual((yield* server.post(urls, named("3"))).status, 200)
      const again = yield* server.post(urls, named("1"))
      assert.strictEqual(again.status, 200)
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      assert.strictEqual((yield* server.books).charged, 3)
    }),
  )

  it.scopedLive("a wrong limit gets 400 with the path x-max-credits", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const { status, text } = yield* server.post(urls, limited("1.5"))
      assert.strictEqual(status, 400)
      assert.deepStrictEqual(JSON.parse(text).error.issues, [
        {
          code: "invalid_header",
          message: "The header x-max-credits must be a whole number of credits, 0 or more",
          path: ["x-max-credits"],
        },
      ])
    }),
  )
})
