/**
 * Tests what a client may add to a batch: a limit, the provenance and age of figures, and a
 * preview.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { checkedFrom, providerFailed } from "../../src/check/Metrics.ts"
import { previewPath } from "../../src/contract/Wire.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { ProviderError } from "../../src/providers/MetricsProvider.ts"
import * as memory from "../support/memory.ts"
import { figures, type Lookup, make, succeeding } from "../support/ScriptedProvider.ts"
import { batch, type Options, start } from "../support/TestServer.ts"

const body = (...urls: ReadonlyArray<string>) => JSON.stringify({ urls })

const cached = (vendor: ReturnType<typeof make>["vendor"]) =>
  Composed.decorated(vendor, {
    timeout: "1 second",
    concurrency: 1,
    cache: { ttl: Duration.hours(1), capacity: 100 },
  }).pipe(Layer.provide([memory.metricsCache, memory.costs]))

const limited = (credits: string) => ({ "x-max-credits": credits })

describe("a request with the header x-max-credits", () => {
  const urls = body("example.com", "localhost", "example.org", "example.com")

  it.scopedLive(
    "a batch above x-max-credits gets 402 without a lookup, and one at the limit passes",
    () =>
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
        // The limit holds even though the figures may be in the cache by now.
        assert.strictEqual((yield* server.post(urls, limited("5"))).status, 402)
      }),
  )

  it.scopedLive("x-max-credits: 0 admits a request that costs nothing", () =>
    Effect.gen(function* () {
      const server = yield* start()
      assert.strictEqual((yield* server.post('{"urls":["localhost"]}', limited("0"))).status, 200)
      assert.strictEqual((yield* server.post(urls, limited("0"))).status, 402)
    }),
  )

  it.scopedLive(
    "a repeated request is replayed whatever x-max-credits is, and a 402 leaves the idempotency key free",
    () =>
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

  it.scopedLive("an invalid x-max-credits gets 400 with the path x-max-credits", () =>
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

const preferring = { prefer: "respond-async, Provenance" }

/** A vendor that does not know the hosts `unknown.*`, and fails for the hosts `failing.*`. */
const scripted: Lookup = (targets) =>
  Effect.succeed(
    targets.map(({ domain, host }) => {
      if (host.startsWith("unknown."))
        return providerFailed("scripted knows no such host", "unknown")
      if (host.startsWith("failing.")) return providerFailed("token 123 is bad at 10.0.0.1")
      return checkedFrom(figures, { index: "2026-11-01", of: host === domain ? undefined : domain })
    }),
  )

const remembering = cached(make(scripted).vendor)

describe("a request that prefers the provenance", () => {
  it.scopedLive(
    "the provenance names provider, age, index and domain of figures, bought and then known",
    () =>
      Effect.gen(function* () {
        const server = yield* start({ provider: remembering })
        const ask = server.post(body("example.com", "blog.example.com"), preferring)
        const first = yield* ask
        assert.strictEqual(first.headers["preference-applied"], "provenance")
        assert.strictEqual(first.headers["vary"], "Prefer")
        const [own, ofDomain] = JSON.parse(first.text).data.successUrls
        const { fetchedAt } = own.provenance
        assert.closeTo(Date.parse(fetchedAt), Date.now(), 5000)
        const provenance = { provider: "scripted", ageSeconds: 0, index: "2026-11-01" }
        assert.deepStrictEqual(own, {
          url: "example.com",
          ...figures,
          provenance: { ...provenance, source: "bought", fetchedAt },
        })
        assert.strictEqual(ofDomain.provenance.of, "example.com")
        const [again] = JSON.parse((yield* ask).text).data.successUrls
        assert.deepStrictEqual(
          { ...again.provenance, ageSeconds: 0 },
          { ...provenance, source: "known", fetchedAt },
        )
      }),
  )

  it.scopedLive(
    "the provenance explains each failure in one sentence, without the vendor's words",
    () =>
      Effect.gen(function* () {
        const server = yield* start({ provider: remembering })
        const urls = ["unknown.example.com", "failing.example.com", "localhost"]
        const { text } = yield* server.post(body(...urls), preferring)
        const reason = "PROVIDER_ERROR"
        const unknown = "scripted knows no such host."
        const failed = "The provider failed for this URL; a later request may succeed."
        const invalid = "its host is not under a public domain ending."
        assert.deepStrictEqual(JSON.parse(text).data.failedUrls, [
          { url: urls[0], reason, cause: "unknown", detail: unknown },
          { url: urls[1], reason, cause: "failed", detail: failed },
          { url: urls[2], reason: "INVALID_URL", cause: "invalid", detail: invalid },
        ])
      }),
  )

  it.scopedLive("the provenance names which provider of a chain gave the figures", () =>
    Effect.gen(function* () {
      const down: Lookup = () =>
        new ProviderError({ provider: "first", reason: "Refused", detail: "no" })
      const provider = Composed.chain([cached(make(down).vendor), make(scripted).layer])
      const server = yield* start({ provider })
      const { text } = yield* server.post(body("example.com"), preferring)
      assert.strictEqual(JSON.parse(text).data.successUrls[0].provenance.provider, "scripted")
    }),
  )

  it.scopedLive(
    "an answer with provenance is replayed unchanged, and its key is refused without the preference",
    () =>
      Effect.gen(function* () {
        const server = yield* start({ provider: remembering })
        const named = { "idempotency-key": "one" }
        const urls = body("example.com", "localhost")
        const first = yield* server.post(urls, { ...named, ...preferring })
        const again = yield* server.post(urls, { ...named, ...preferring })
        assert.strictEqual(again.text, first.text)
        assert.strictEqual(again.headers["preference-applied"], "provenance")
        assert.strictEqual(again.headers["idempotent-replayed"], "true")
        assert.strictEqual((yield* server.post(urls, named)).status, 422)
        const plain = yield* server.post(urls, { prefer: "provenances" })
        assert.isUndefined(plain.headers["preference-applied"])
        assert.notInclude(plain.text, "provenance")
        assert.notInclude(plain.text, "cause")
        assert.strictEqual((yield* server.books).charged, 2)
      }),
  )

  it.scopedLive("Cache-Control: max-age=0 buys figures again, and no-cache does not", () =>
    Effect.gen(function* () {
      const { key, post, send } = yield* start({ provider: remembering })
      for (const [control, source, toBuy] of [
        ["no-cache", "bought", 1],
        ["no-cache", "known", 0],
        ["max-age=0", "bought", 1],
      ] as const) {
        const headers = { ...preferring, "cache-control": control }
        const previewed = { ...batch(key, body("example.com"), headers), path: previewPath }
        assert.strictEqual(JSON.parse((yield* send(previewed)).text).data.summary.toBuy, toBuy)
        const { text } = yield* post(body("example.com"), headers)
        assert.strictEqual(JSON.parse(text).data.successUrls[0].provenance.source, source)
      }
    }),
  )
})

/**
 * Starts a server whose provider has a cache, and returns it with a function that previews URLs.
 */
const running = (options: Options = {}) =>
  Effect.gen(function* () {
    const { calls, vendor } = make(succeeding)
    const server = yield* start({ provider: cached(vendor), ...options })
    const post = (text: string) => server.send({ ...batch(server.key, text), path: previewPath })
    const preview = (...urls: ReadonlyArray<string>) =>
      Effect.map(post(body(...urls)), ({ status, text }) => {
        assert.strictEqual(status, 200, text)
        return JSON.parse(text)
      })
    return { ...server, calls, post, preview }
  })

describe("a preview", () => {
  it.scopedLive(
    "a preview counts targets, duplicates, problems and known figures, and names the price",
    () =>
      Effect.gen(function* () {
        const { calls, check, preview } = yield* running({ price: 3, credits: 12 })
        yield* check(["example.com"])
        const urls = ["HTTP://Example.com", "example.org/a?b", "localhost", "example.com/#top"]
        const valid = { valid: true, duplicateOf: null }
        const problem = "its host is not under a public domain ending"
        assert.deepStrictEqual(yield* preview(...urls), {
          success: true,
          data: {
            entries: [
              { url: urls[0], ...valid, target: "example.com/", known: true },
              { url: urls[1], ...valid, target: "example.org/a?b", known: false },
              { url: urls[2], valid: false, problem },
              { url: urls[3], ...valid, target: "example.com/", duplicateOf: 0, known: true },
            ],
            summary: { total: 4, valid: 3, invalid: 1, duplicates: 1, known: 1, toBuy: 1 },
          },
          quota: { maxCredits: 9, availableCredits: 9, affordable: true },
        })
        assert.deepStrictEqual(calls, [["example.com/"]])
      }),
  )

  it.scopedLive(
    "a preview holds and charges nothing, and tells the most that the batch can cost",
    () =>
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

  it.scopedLive("a preview is refused with 400 and 429 as a batch is", () =>
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
