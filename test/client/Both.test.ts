/** Tests that the promise client and the Effect client return the same for each call. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as EffectClient from "../../src/client/EffectClient.ts"
import { AuthorityMetrics, Forbidden } from "../../src/client/PromiseClient.ts"
import { MetricsCache } from "../../src/providers/figures/MetricsCache.ts"
import * as memory from "../support/memory.ts"
import { start } from "../support/TestServer.ts"

/** Figures of example.com that were bought two and three days ago. */
const figures = Layer.effect(
  MetricsCache,
  Effect.tap(MetricsCache, ({ put }) =>
    Effect.forEach([3, 2], (days) =>
      put([
        {
          provider: "moz",
          page: "example.com/",
          metrics: { domainAuthority: days, pageAuthority: 30 },
          fetchedAt: Date.now() - days * 86_400_000,
          index: undefined,
          of: undefined,
        },
      ]),
    ),
  ),
).pipe(Layer.provide(memory.metricsCache))

const running = Effect.gen(function* () {
  const server = yield* start({ figures })
  const clientsOf = (apiKey: Redacted.Redacted<string>) =>
    Effect.map(EffectClient.make({ baseUrl: server.url, apiKey }), (effectClient) => ({
      client: AuthorityMetrics({ baseUrl: server.url, apiKey: Redacted.value(apiKey) }),
      effectClient,
    }))
  return { ...server, clientsOf, ...(yield* clientsOf(Redacted.make(server.key))) }
})

describe("the promise client and the Effect client", () => {
  it.scopedLive("both clients return the answer of each path", () =>
    Effect.gen(function* () {
      const { check, client, effectClient, key, send } = yield* running
      yield* check(["example.com", "localhost"])
      const [since, day] = [new Date(), new Date().toISOString().slice(0, 10)]
      for (const [path, promised, result] of [
        ["/v1/key", client.key, effectClient.key],
        ["/v1/usage", client.usage, effectClient.usage()],
        [
          `/v1/usage?since=${day}&by=key`,
          () => client.usage({ since, by: "key" }),
          effectClient.usage({ since, by: "key" }),
        ],
        ["/v1/statement", client.statement, effectClient.statement()],
        [
          "/v1/statement?limit=1&before=2",
          () => client.statement({ limit: 1, before: 2 }),
          effectClient.statement({ limit: 1, before: 2 }),
        ],
        [
          "/v1/metrics/da-pa/history?url=example.com",
          () => client.history("example.com"),
          effectClient.history("example.com"),
        ],
        [
          "/v1/metrics/da-pa/history?url=example.com&limit=1",
          () => client.history("example.com", { limit: 1 }),
          effectClient.history("example.com", { limit: 1 }),
        ],
      ] as const) {
        const answer = yield* send({ path, headers: { "x-api-key": key } })
        const { data } = JSON.parse(answer.text)
        const own: unknown = yield* Effect.promise<unknown>(() => promised())
        assert.deepStrictEqual([own, yield* result], [data, data], path)
      }
      const credits = yield* Effect.promise(() => client.availableCredits())
      assert.deepStrictEqual([credits, yield* effectClient.availableCredits], [999, 999])
    }),
  )

  it.scopedLive(
    "both clients preview a batch, including the URLs that the service would refuse",
    () =>
      Effect.gen(function* () {
        const { client, effectClient } = yield* running
        const urls = ["", "example.com", "x".repeat(1001), "localhost", "https://example.com"]
        const one = { valid: true, target: "example.com/", known: true }
        const expected = {
          entries: [
            { url: "", valid: false, problem: "it is empty" },
            { url: urls[1], ...one, duplicateOf: null },
            { url: urls[2], valid: false, problem: "it is too long" },
            { url: urls[3], valid: false, problem: "its host is not under a public domain ending" },
            { url: urls[4], ...one, duplicateOf: 1 },
          ],
          summary: { total: 5, valid: 2, invalid: 3, duplicates: 1, known: 1, toBuy: 0 },
          maxCredits: 2,
          availableCredits: 1000,
          affordable: true,
        }
        const promised: unknown = yield* Effect.promise(() => client.preview(urls))
        const result: unknown = yield* effectClient.preview(urls)
        assert.deepEqual([promised, result], [expected, expected])
        const unsent = yield* Effect.promise(() => client.preview([""]))
        assert.deepInclude(unsent, { availableCredits: 1000, maxCredits: 0 })
      }),
  )

  it.scopedLive(
    "both clients return the provenance of a check, and reject a check above its limit",
    () =>
      Effect.gen(function* () {
        const { books, client, effectClient } = yield* running
        const urls = ["example.com", "localhost"]
        const options = { provenance: true, maxCredits: 1 }
        const promised = yield* Effect.promise(() => client.check(urls, options))
        for (const { outcomes } of [promised, yield* effectClient.check(urls, options)]) {
          assert.nestedPropertyVal(outcomes, "0.provenance.provider", "sandbox")
          assert.nestedPropertyVal(outcomes, "1.cause", "invalid")
        }
        const refusal = { _tag: "InsufficientCredits", status: 402 } as const
        const none = { maxCredits: 0 }
        const rejected = yield* Effect.promise(() =>
          client.check(urls, none).catch((error: unknown) => error),
        )
        assert.deepInclude(rejected, refusal)
        assert.deepInclude(yield* Effect.flip(effectClient.check(urls, none)), refusal)
        assert.strictEqual((yield* books).charged, 2)
      }),
  )

  it.scopedLive(
    "both clients have an error for a missing scope, and their checkAll works without the preview",
    () =>
      Effect.gen(function* () {
        const { account, clientsOf, keys } = yield* running
        const issued = yield* keys.issue({ account, scopes: ["check"] })
        const { client, effectClient } = yield* clientsOf(issued.key)
        const error = yield* Effect.promise(() => client.key().catch((error: unknown) => error))
        assert.instanceOf(error, Forbidden)
        assert.include(error.message, "scope read")
        const failure = yield* Effect.flip(effectClient.availableCredits)
        assert.deepStrictEqual([failure._tag, failure.status], ["Forbidden", 403])
        const results = effectClient.checkAll(Stream.make("example.com", "example.com"))
        const used = Stream.runSum(Stream.map(results, ({ creditsUsed }) => creditsUsed))
        assert.strictEqual(yield* used, 1)
      }),
  )
})
