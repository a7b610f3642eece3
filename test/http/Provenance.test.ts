import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as memory from "../support/memory.ts"
import { checkedFrom, providerFailed } from "../../src/check/Metrics.ts"
import { ProviderError } from "../../src/providers/MetricsProvider.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { figures, type Lookup, make } from "../support/ScriptedProvider.ts"
import { start } from "../support/TestServer.ts"

const preferring = { prefer: "respond-async, Provenance" }

/** Knows nothing of the hosts `unknown.*`, and fails for the hosts `failing.*`. */
const scripted: Lookup = (targets) =>
  Effect.succeed(
    targets.map(({ domain, host }) => {
      if (host.startsWith("unknown."))
        return providerFailed("scripted knows no such host", "unknown")
      if (host.startsWith("failing.")) return providerFailed("token 123 is bad at 10.0.0.1")
      return checkedFrom(figures, { index: "2026-11-01", of: host === domain ? undefined : domain })
    }),
  )

const cached = (lookup: Lookup) => {
  const { vendor } = make(lookup)
  return Composed.decorated(vendor, {
    timeout: "1 second",
    concurrency: 1,
    cache: { ttl: Duration.hours(1), capacity: 100 },
  }).pipe(Layer.provide([memory.metricsCache, memory.costs]))
}

const body = (...urls: ReadonlyArray<string>) => JSON.stringify({ urls })

describe("a request that prefers the provenance", () => {
  it.scopedLive("names provider, age, index and domain of figures, bought then known", () =>
    Effect.gen(function* () {
      const server = yield* start({ provider: cached(scripted) })
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

  it.scopedLive("explains each failure in one sentence, without the words of the vendor", () =>
    Effect.gen(function* () {
      const server = yield* start({ provider: cached(scripted) })
      const urls = ["unknown.example.com", "failing.example.com", "localhost"]
      const { text } = yield* server.post(body(...urls), preferring)
      assert.deepStrictEqual(JSON.parse(text).data.failedUrls, [
        {
          url: urls[0],
          reason: "PROVIDER_ERROR",
          cause: "unknown",
          detail: "scripted knows no such host.",
        },
        {
          url: urls[1],
          reason: "PROVIDER_ERROR",
          cause: "failed",
          detail: "The provider failed for this URL; a later request may succeed.",
        },
        {
          url: "localhost",
          reason: "INVALID_URL",
          cause: "invalid",
          detail: "its host is not under a public domain ending.",
        },
      ])
    }),
  )

  it.scopedLive("names the provider of a chain that gave the figures", () =>
    Effect.gen(function* () {
      const down: Lookup = () =>
        new ProviderError({ provider: "first", reason: "Refused", detail: "no" })
      const provider = Composed.chain([cached(down), make(scripted).layer])
      const server = yield* start({ provider })
      const { text } = yield* server.post(body("example.com"), preferring)
      assert.strictEqual(JSON.parse(text).data.successUrls[0].provenance.provider, "scripted")
    }),
  )

  it.scopedLive("is replayed byte for byte, and a request without it cannot use its key", () =>
    Effect.gen(function* () {
      const server = yield* start({ provider: cached(scripted) })
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

  it.scopedLive("Cache-Control: max-age=0 buys figures anew, and no-cache does not", () =>
    Effect.gen(function* () {
      const server = yield* start({ provider: cached(scripted) })
      const source = (control: string) =>
        Effect.map(
          server.post(body("example.com"), { ...preferring, "cache-control": control }),
          ({ text }) => JSON.parse(text).data.successUrls[0].provenance.source,
        )
      assert.strictEqual(yield* source("no-cache"), "bought")
      assert.strictEqual(yield* source("no-cache"), "known")
      assert.strictEqual(yield* source("max-age=0"), "bought")
    }),
  )
})
