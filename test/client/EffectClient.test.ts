/** Tests the Effect client, which wraps the promise client. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Client from "../../src/client/EffectClient.ts"
import { good, refused } from "../support/serviceAnswers.ts"
import { eventually } from "../support/eventually.ts"
import { start } from "../support/TestServer.ts"

const clientOf = (url: string, key: string, options: Partial<Client.Options> = {}) =>
  Client.AuthorityClient.pipe(
    Effect.provide(
      Client.layer({ baseUrl: url, apiKey: Redacted.make(key), patience: 0, ...options }),
    ),
  )

const reasonOf = (outcome: Client.Outcome | undefined) =>
  outcome !== undefined && "reason" in outcome ? outcome.reason : undefined

describe("a stream of URLs in the Effect client", () => {
  it.scopedLive("a stream that fails ends checkAll with its error, after its results", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const client = yield* clientOf(server.url, server.key)
      const urls = Stream.range(0, 59).pipe(
        Stream.map((i) => `site${i}.example.com`),
        Stream.concat(Stream.fail("the list broke")),
      )
      const sizes: Array<number> = []
      const error = yield* client.checkAll(urls).pipe(
        Stream.runForEach(({ outcomes }) => Effect.sync(() => sizes.push(outcomes.length))),
        Effect.flip,
      )
      assert.deepStrictEqual([error, sizes], ["the list broke", [50]])
    }),
  )

  it.scopedLive("interrupting checkAll aborts its requests and closes the stream of URLs", () =>
    Effect.gen(function* () {
      const signals: Array<AbortSignal | null | undefined> = []
      let isClosed = false
      const client = yield* clientOf("http://service", "am_1", {
        fetch: (_, { signal }) => {
          signals.push(signal)
          return new Promise(() => {})
        },
      })
      const urls = Stream.range(0, 1000).pipe(
        Stream.map(String),
        Stream.ensuring(Effect.sync(() => (isClosed = true))),
      )
      const fiber = yield* Effect.fork(Stream.runDrain(client.checkAll(urls, { concurrency: 2 })))
      yield* eventually("both requests are sent", () => signals.length === 2)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(signals.every((signal) => signal?.aborted))
      assert.isTrue(isClosed)
    }),
  )

  it.scopedLive("interrupting checkAll closes a stream that is waiting for its next URL", () =>
    Effect.gen(function* () {
      const waits = yield* Deferred.make<void>()
      let isClosed = false
      const client = yield* clientOf("http://service", "am_1")
      const urls = Stream.fromEffect(
        Effect.zipRight(Deferred.succeed(waits, undefined), Effect.never),
      ).pipe(Stream.ensuring(Effect.sync(() => (isClosed = true))))
      const fiber = yield* Effect.fork(Stream.runDrain(client.checkAll(urls)))
      yield* Deferred.await(waits)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(isClosed)
    }),
  )
})

describe("the options of the Effect client", () => {
  it.live("the Effect client runs onRetry before each retry", () =>
    Effect.gen(function* () {
      const answers = [refused(409, { "retry-after": "0" }), good]
      const retries: Array<string> = []
      const client = yield* clientOf("http://service", "am_1", {
        patience: "5 seconds",
        fetch: () => {
          const { status, ...answer } = { headers: {}, ...(answers.shift() ?? good) }
          return Promise.resolve(new Response(answer.body, { status, headers: answer.headers }))
        },
        onRetry: ({ _tag }) => Effect.sync(() => void retries.push(_tag)),
      })
      assert.deepStrictEqual((yield* client.check(["a"])).outcomes.map(reasonOf), ["INVALID_URL"])
      assert.deepStrictEqual(retries, ["RequestInProgress"])
    }),
  )

  it.live("interrupting a call of the Effect client aborts its request", () =>
    Effect.gen(function* () {
      let signal: AbortSignal | null | undefined
      const client = yield* clientOf("http://service", "am_1", {
        fetch: (_, request) => {
          signal = request.signal
          return new Promise(() => {})
        },
      })
      const fiber = yield* Effect.fork(client.availableCredits)
      while (signal === undefined) yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      assert.isTrue(signal?.aborted)
    }),
  )
})
