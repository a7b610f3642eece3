/** Tests the answers that requests with a budget get over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AuthorityMetrics, InsufficientCredits } from "../../src/client/PromiseClient.ts"
import { previewPath } from "../../src/contract/Wire.ts"
import type { Period } from "../../src/ledger/budgets/Budget.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { newHold } from "../../scripts/support/ledger.ts"
import { type Ports, stores } from "../support/Stores.ts"
import { batch, start } from "../support/TestServer.ts"

const withBudgetIn = (stores: Layer.Layer<Ports>, credits: number, period: Period) =>
  Effect.gen(function* () {
    const server = yield* start({ stores })
    const budget = { credits: Credits.make(credits), period }
    yield* server.keys.update(server.keyId, { budget })
    return server
  })

const limitsOf = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) => [
  headers["x-limit"],
  headers["retry-after"],
]

describe.each(stores)("a request of a key with a budget on %s", (_, layer) => {
  const stores = Layer.orDie(layer)
  const withBudget = (credits: number, period: Period) => withBudgetIn(stores, credits, period)

  it.scopedLive(
    "the header x-limit of a 402 names what is used up: the budget or the balance",
    () =>
      Effect.gen(function* () {
        const server = yield* withBudget(3, "total")
        const urls = ["example.com", "example.org"]
        assert.strictEqual((yield* server.check(urls)).status, 200)
        const known = yield* server.check(urls)
        const unknown = yield* server.check(["example.net", "iana.org"])
        for (const answer of [known, unknown]) {
          assert.strictEqual(answer.status, 402)
          assert.deepStrictEqual(limitsOf(answer), ["budget", undefined])
          assert.deepStrictEqual(JSON.parse(answer.text), {
            success: false,
            message:
              "This request needs 2 credits and the budget of its key has 1 left of 3 in all.",
          })
        }
        assert.strictEqual((yield* server.check(["example.com"])).status, 200)
        const poor = yield* start({ credits: 1 })
        assert.deepStrictEqual(limitsOf(yield* poor.check(urls)), ["balance", undefined])
      }),
  )

  it.scopedLive(
    "a request gets Retry-After: 1 when running requests hold the rest of the budget",
    () =>
      Effect.gen(function* () {
        const server = yield* withBudget(3, "month")
        const held = { ...newHold(server.account, 3), apiKeyId: server.keyId }
        yield* server.ledger.open(held)
        const answer = yield* server.check(["example.com"])
        assert.strictEqual(answer.status, 402)
        assert.deepStrictEqual(limitsOf(answer), ["budget", "1"])
        assert.include(answer.text, "3 held by 1 running request")
        yield* server.ledger.release(held)
        assert.strictEqual((yield* server.check(["example.com"])).status, 200)
      }),
  )

  it.scopedLive(
    "the preview of a batch above the budget says that the batch is not affordable",
    () =>
      Effect.gen(function* () {
        const server = yield* withBudget(1, "day")
        const preview = (urls: ReadonlyArray<string>) =>
          Effect.map(
            server.send({ ...batch(server.key, JSON.stringify({ urls })), path: previewPath }),
            ({ text }) => JSON.parse(text).quota.affordable,
          )
        assert.isTrue(yield* preview(["example.com"]))
        assert.isFalse(yield* preview(["example.com", "example.org"]))
      }),
  )

  it.scopedLive("the client reports which limit was hit, and waits for running requests", () =>
    Effect.gen(function* () {
      const server = yield* withBudget(2, "day")
      const client = AuthorityMetrics({ baseUrl: server.url, apiKey: server.key })
      const refused = yield* Effect.flip(
        Effect.tryPromise({
          try: () => client.check(["a.com", "b.com", "c.com"]),
          catch: (error) => error,
        }),
      )
      assert.instanceOf(refused, InsufficientCredits)
      assert.deepInclude(refused, { limit: "budget", isTransient: false })
      const held = { ...newHold(server.account, 2), apiKeyId: server.keyId }
      yield* server.ledger.open(held)
      const waiting = AuthorityMetrics({
        baseUrl: server.url,
        apiKey: server.key,
        onRetry: (error) => {
          assert.deepInclude(error, { limit: "budget", isTransient: true, retryAfterMs: 1000 })
          return Effect.runPromise(server.ledger.release(held))
        },
      })
      const { creditsUsed } = yield* Effect.promise(() => waiting.check(["example.com"]))
      assert.strictEqual(creditsUsed, 1)
    }),
  )
})
