import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { previewPath } from "../../src/contract/Wire.ts"
import * as memory from "../support/memory.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { batch, type Options, start } from "../support/TestServer.ts"

const cached = (vendor: ReturnType<typeof make>["vendor"]) =>
  Composed.decorated(vendor, {
    timeout: "1 second",
    concurrency: 1,
    cache: { ttl: Duration.hours(1), capacity: 100 },
  }).pipe(Layer.provide([memory.metricsCache, memory.costs]))

/** A server whose provider has a cache, and a function that previews URLs on it. */
const running = (options: Options = {}) =>
  Effect.gen(function* () {
    const { calls, vendor } = make(succeeding)
    const server = yield* start({ provider: cached(vendor), ...options })
    const post = (body: string) => server.send({ ...batch(server.key, body), path: previewPath })
    const preview = (...urls: ReadonlyArray<string>) =>
      Effect.map(post(JSON.stringify({ urls })), ({ status, text }) => {
        assert.strictEqual(status, 200, text)
        return JSON.parse(text)
      })
    return { ...server, calls, post, preview }
  })

describe("a preview", () => {
  it.scopedLive("a preview names targets, duplicates, problems, known figures and the price", () =>
    Effect.gen(function* () {
      const { calls, check, preview } = yield* running({ price: 3, credits: 12 })
      yield* check(["example.com"])
      const urls = ["HTTP://Example.com", "example.org/a?b", "localhost", "example.com/#top"]
      assert.deepStrictEqual(yield* preview(...urls), {
        success: true,
        data: {
          entries: [
            { url: urls[0], valid: true, target: "example.com/", duplicateOf: null, known: true },
            {
              url: urls[1],
              valid: true,
              target: "example.org/a?b",
              duplicateOf: null,
              known: false,
            },
            {
              url: "localhost",
              valid: false,
              problem: "its host is not under a public domain ending",
            },
            { url: urls[3], valid: true, target: "example.com/", duplicateOf: 0, known: true },
          ],
          summary: { total: 4, valid: 3, invalid: 1, duplicates: 1, known: 1, toBuy: 1 },
        },
        quota: { maxCredits: 9, availableCredits: 9, affordable: true },
      })
      assert.deepStrictEqual(calls, [["example.com/"]])
    }),
  )

  it.scopedLive("a preview holds and charges nothing, and says the most that a batch costs", () =>
    Effect.gen(function* () {
      const server = yield* running({ credits: 2 })
      const urls = ["example.com", "example.org", "example.com"]
      const { quota } = yield* server.preview(...urls)
      assert.deepStrictEqual(quota, { maxCredits: 3, availableCredits: 2, affordable: false })
      assert.deepStrictEqual(yield* server.books, { available: 2, held: 0, charged: 0 })
      assert.strictEqual((yield* server.check(urls)).status, 402)
      assert.deepStrictEqual(server.calls, [])
      const free = { maxCredits: 0, availableCredits: 2, affordable: true }
      assert.deepStrictEqual((yield* server.preview("localhost")).quota, free)
    }),
  )

  it.scopedLive("a preview counts figures above max-age as bought", () =>
    Effect.gen(function* () {
      const { check, key, send } = yield* running()
      yield* check(["example.com"])
      const ask = batch(key, '{"urls":["example.com"]}', { "cache-control": "max-age=0" })
      const { text } = yield* send({ ...ask, path: previewPath })
      assert.deepInclude(JSON.parse(text).data.summary, { known: 0, toBuy: 1 })
    }),
  )

  it.scopedLive("a preview is refused like a batch: 400 and 429", () =>
    Effect.gen(function* () {
      const { post } = yield* running({
        rateLimit: { requests: 3, per: Duration.minutes(1) },
      })
      const empty = yield* post('{"urls":[]}')
      assert.strictEqual(empty.status, 400)
      assert.deepStrictEqual(JSON.parse(empty.text).error.issues[0].path, ["urls"])
      assert.strictEqual((yield* post("{")).status, 400)
      assert.strictEqual((yield* post('{"urls":["a.com"]}')).status, 200)
      assert.strictEqual((yield* post('{"urls":["a.com"]}')).status, 429)
    }),
  )
})
