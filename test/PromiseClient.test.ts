/** Tests the promise client, for programs without Effect, against the service. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import {
  AuthorityMetrics,
  ClientError,
  InsufficientCredits,
  ValidationError,
} from "../src/client/PromiseClient.ts"
import { start } from "./support/TestServer.ts"

const make = (server: { readonly url: string; readonly key: string }) =>
  AuthorityMetrics({ baseUrl: server.url, apiKey: server.key, patienceMs: 0 })

/** Returns the error that a promise rejects with. */
const rejection = (promise: Promise<unknown>) =>
  Effect.promise(() =>
    promise.then(
      () => undefined,
      (error: unknown) => error,
    ),
  )

describe("the promise client", () => {
  it.scopedLive("the promise client checks a batch and returns the available credits", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const client = make(server)
      const options = { idempotencyKey: "one" }
      const report = yield* Effect.promise(() => client.check(["example.com", "a"], options))
      assert.deepStrictEqual(report.outcomes, [
        { url: "example.com", domainAuthority: 92, pageAuthority: 88, spamScore: 1 },
        { url: "a", reason: "INVALID_URL" },
      ])
      assert.strictEqual(yield* Effect.promise(() => client.availableCredits()), 999)
      const again = yield* Effect.promise(() => client.check(["example.com", "a"], options))
      assert.isTrue(again.isReplay)
    }),
  )

  it.scopedLive("the promise client rejects with a specific error class for each failure", () =>
    Effect.gen(function* () {
      const server = yield* start({ credits: 0 })
      const client = make(server)
      const poor = yield* rejection(client.check(["example.com"]))
      assert.instanceOf(poor, InsufficientCredits)
      assert.isTrue(poor instanceof ClientError && poor instanceof Error)
      assert.deepStrictEqual([poor.status, poor.name], [402, "InsufficientCredits"])
      const none = yield* rejection(client.check([]))
      assert.instanceOf(none, ValidationError)
      assert.deepStrictEqual(
        none.issues.map(({ code }) => code),
        ["too_small"],
      )
    }),
  )

  it.scopedLive("an abort signal ends a call of the promise client with the signal's reason", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const client = make(server)
      const reason = new Error("enough")
      const early = AbortSignal.abort(reason)
      assert.strictEqual(yield* rejection(client.check(["a"], { signal: early })), reason)
      assert.strictEqual(yield* rejection(client.availableCredits({ signal: early })), reason)
      const { abort, signal } = aborter()
      const call = rejection(client.check(["slow.example.com"], { signal }))
      abort(reason)
      assert.strictEqual(yield* call, reason)
      const list = async () => {
        const { abort, signal } = aborter()
        const all = client.checkAll(["example.com", "slow.example.com"], { signal })
        abort(reason)
        for await (const { url } of all) assert.fail(url)
      }
      assert.strictEqual(yield* rejection(list()), reason)
      assert.strictEqual((yield* server.books).charged, 0)
    }),
  )

  it.scopedLive("the promise client reads a list only as far as its outcomes are consumed", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const client = make(server)
      let read = 0
      async function* endless() {
        for (;;) yield `site${read++}.example.com`
      }
      const urls: Array<string> = []
      yield* Effect.promise(async () => {
        for await (const { url } of client.checkAll(endless(), { concurrency: 2 })) {
          urls.push(url)
          if (urls.length === 120) break
        }
      })
      assert.deepStrictEqual(
        urls,
        Array.from({ length: 120 }, (_, i) => `site${i}.example.com`),
      )
      assert.isBelow(read, 500)
      const broken = async () => {
        for await (const outcome of client.checkAll(failing())) assert.fail(outcome.url)
      }
      assert.deepStrictEqual(yield* rejection(broken()), new Error("the list broke"))
    }),
  )
})

const aborter = () => {
  const controller = new AbortController()
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) }
}

function* failing() {
  yield "example.com"
  throw new Error("the list broke")
}
