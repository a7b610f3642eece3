/** Tests the Effect client against the service and against servers that misbehave. */
import { inspect } from "node:util"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import type { HttpClientRequest } from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { bodyOf } from "../../src/client/Answer.ts"
import * as Client from "../../src/client/EffectClient.ts"
import * as Envelope from "../../src/contract/Envelope.ts"
import { final, good, refused, type Scripted } from "../support/serviceAnswers.ts"
import { batchPath, start } from "../support/TestServer.ts"

const clientOf = (url: string, key: string) =>
  Client.AuthorityClient.pipe(
    Effect.provide(Client.layer({ baseUrl: url, apiKey: Redacted.make(key), patience: 0 })),
    Effect.provide(FetchHttpClient.layer),
  )

const reasonOf = (outcome: Client.Outcome | undefined) =>
  outcome !== undefined && "reason" in outcome ? outcome.reason : undefined

describe("against the service", () => {
  it.scopedLive(
    "the client returns an outcome per URL in the given order, and the request id",
    () =>
      Effect.gen(function* () {
        const server = yield* start()
        const client = yield* clientOf(`${server.url}/`, server.key)
        const urls = ["localhost", "example.com", "localhost", "provider-error.example.com"]
        const report = yield* client.check(urls)
        assert.deepStrictEqual(
          report.outcomes.map(({ url }) => url),
          urls,
        )
        assert.deepStrictEqual(report.outcomes.map(reasonOf), [
          "INVALID_URL",
          undefined,
          "INVALID_URL",
          "PROVIDER_ERROR",
        ])
        assert.deepStrictEqual([report.creditsUsed, report.isReplay], [1, false])
        const [charge] = yield* server.charges
        assert.strictEqual(report.requestId, charge?.requestId)
        assert.strictEqual(yield* client.availableCredits, 999)
      }),
  )

  it.scopedLive(
    "when the client repeats a request with the same idempotency key, it gets the stored answer free of charge",
    () =>
      Effect.gen(function* () {
        const server = yield* start()
        const client = yield* clientOf(server.url, server.key)
        const idempotencyKey = 'order "7" \\ a'
        const first = yield* client.check(["example.com"], { idempotencyKey })
        const second = yield* client.check(["example.com"], { idempotencyKey })
        assert.deepStrictEqual(second.outcomes, first.outcomes)
        assert.deepStrictEqual([first.isReplay, second.isReplay], [false, true])
        assert.strictEqual((yield* server.books).charged, 1)
        const reused = yield* Effect.flip(client.check(["example.org"], { idempotencyKey }))
        assert.instanceOf(reused, Client.IdempotencyKeyReused)
        assert.strictEqual(reused.status, 422)
      }),
  )

  it.scopedLive("a client error contains the reason and the request id", () =>
    Effect.gen(function* () {
      const rateLimit = { requests: 2, per: Duration.hours(1) }
      const server = yield* start({ credits: 1, rateLimit })
      const client = yield* clientOf(server.url, server.key)
      const poor = yield* Effect.flip(client.check(["example.com", "example.org"]))
      assert.instanceOf(poor, Client.InsufficientCredits)
      assert.match(poor.message, /2.*1/)
      assert.match(poor.requestId ?? "", /^[0-9a-f-]{36}$/)
      yield* client.check(["example.com"])
      const limited = yield* Effect.flip(client.availableCredits)
      assert.instanceOf(limited, Client.RateLimited)
      assert.isAbove(limited.retryAfterMs, 3_000_000)
      const stranger = yield* clientOf(server.url, "am_none")
      const refused = yield* Effect.flip(stranger.check(["example.com"]))
      assert.instanceOf(refused, Client.Unauthorized)
      assert.isTrue(refused instanceof Client.ClientError)
      assert.deepStrictEqual([refused.status, refused.name], [401, "Unauthorized"])
    }),
  )

  it.scopedLive(
    "the client checks a list of any length and keeps invalid URLs in their place",
    () =>
      Effect.gen(function* () {
        const server = yield* start()
        const client = yield* clientOf(server.url, server.key)
        const urls = Array.from({ length: 170 }, (_, i) => `site${i}.example.com`)
        urls[3] = ""
        urls[60] = "x".repeat(1001)
        urls.fill("", 100, 150)
        const list = client.checkAll(Stream.fromIterable(urls), { idempotencyKey: "list" })
        const results = [...(yield* Stream.runCollect(list))]
        const outcomes = results.flatMap((result) => result.outcomes)
        assert.deepStrictEqual(
          outcomes.map(({ url }) => url),
          urls,
        )
        assert.strictEqual(outcomes.filter((outcome) => "reason" in outcome).length, 52)
        assert.deepStrictEqual(
          results.map(({ creditsUsed }) => creditsUsed),
          [49, 49, 0, 20],
        )
        const ids = (yield* server.charges).map(({ requestId }) => requestId)
        assert.sameMembers(
          results.map(({ requestId }) => requestId),
          [...ids, undefined],
        )
        const again = [...(yield* Stream.runCollect(list))]
        assert.deepStrictEqual(
          again.map(({ outcomes }) => outcomes),
          results.map(({ outcomes }) => outcomes),
        )
        assert.strictEqual((yield* server.books).charged, 118)
      }),
  )
})

/** The server's behaviour for one attempt: an answer, a connection reset, or no answer. */
type Move = Scripted | "reset" | "silence"

/** Makes a client whose server makes the moves in order. Returns the requests that it received. */
const scripted = (moves: ReadonlyArray<Move>, options: Partial<Client.Options> = {}) =>
  Effect.gen(function* () {
    const requests: Array<HttpClientRequest> = []
    const http = HttpClient.make((request) => {
      const move = moves[requests.length] ?? "silence"
      requests.push(request)
      if (move === "silence") return Effect.never
      if (move === "reset") {
        return new HttpClientError.RequestError({ request, reason: "Transport", cause: "reset" })
      }
      const { body = "", headers = {}, status } = move
      const response = new Response(body, { status, headers })
      return Effect.succeed(HttpClientResponse.fromWeb(request, response))
    })
    const client = yield* Client.make({
      baseUrl: "http://service",
      apiKey: Redacted.make(key),
      ...options,
    }).pipe(Effect.provideService(HttpClient.HttpClient, http))
    /** The result of a check, with up to an hour of test time. */
    const end = Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.either(client.check(["a"])))
      yield* TestClock.adjust("1 hour")
      const end = yield* Fiber.join(fiber)
      return end._tag === "Right" ? end.right : end.left
    })
    return { client, requests, end }
  })

const key = "am_secret"

describe("when the service fails", () => {
  it.effect(
    "the client retries the same request with the same idempotency key until it is answered",
    () =>
      Effect.gen(function* () {
        const moves = [
          refused(500),
          "reset",
          refused(409),
          { status: 503 },
          "silence",
          good,
        ] as const
        const { end, requests } = yield* scripted(moves, { patience: "5 minutes" })
        const report = yield* end
        assert.isFalse(report instanceof Client.ClientError)
        assert.strictEqual(requests.length, moves.length)
        const sent = requests.map(({ body, headers, url }) =>
          JSON.stringify([url, headers["idempotency-key"], body]),
        )
        assert.strictEqual(new Set(sent).size, 1)
        assert.strictEqual(requests[0]?.url, `http://service${batchPath}`)
        assert.match(requests[0]?.headers["idempotency-key"] ?? "", /^"[0-9a-f-]{36}"$/)
      }),
  )

  it.effect(
    'the client stops retrying when the time set by its option "patience" is over, and fails with the last error',
    () =>
      Effect.gen(function* () {
        const failures = Array.from({ length: 100 }, () => ({ status: 502, body: "<html>" }))
        const { end, requests } = yield* scripted(failures)
        const error = yield* end
        assert.instanceOf(error, Client.ServiceFailed)
        assert.strictEqual(error.status, 502)
        assert.isAbove(requests.length, 3)
        assert.isBelow(requests.length, 20)
        const silent = yield* scripted([], { patience: 0, timeout: "1 second" })
        assert.instanceOf(yield* silent.end, Client.TimedOut)
        assert.strictEqual(silent.requests.length, 1)
      }),
  )

  it.effect("the client waits for the Retry-After before it retries", () =>
    Effect.gen(function* () {
      const { client, requests } = yield* scripted([refused(429, { "retry-after": "20" }), good])
      const fiber = yield* Effect.fork(client.check(["a"]))
      yield* TestClock.adjust("19999 millis")
      assert.strictEqual(requests.length, 1)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(fiber)
      assert.strictEqual(requests.length, 2)
      const busy = yield* scripted([refused(503, { "retry-after": "20" }), good])
      const asked = yield* Effect.fork(busy.client.check(["a"]))
      yield* TestClock.adjust("19999 millis")
      assert.strictEqual(busy.requests.length, 1)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(asked)
      const { end } = yield* scripted([refused(429, { "retry-after": "31" })])
      const error = yield* end
      assert.instanceOf(error, Client.RateLimited)
      assert.deepStrictEqual([error.retryAfterMs, error.message], [31_000, "so it is"])
    }),
  )

  it.effect(
    "the client polls a request in progress at the interval that the service asks for",
    () =>
      Effect.gen(function* () {
        const busy = refused(409, { "retry-after": "2" })
        const waits: Array<number> = []
        const onRetry: Client.Options["onRetry"] = ({ _tag }, waitMs) =>
          Effect.sync(() => {
            assert.strictEqual(_tag, "RequestInProgress")
            waits.push(waitMs)
          })
        const patient = yield* scripted([...Array.from({ length: 8 }, () => busy), good], {
          onRetry,
        })
        assert.isFalse((yield* patient.end) instanceof Client.ClientError)
        assert.deepStrictEqual(
          waits,
          waits.map(() => 2000),
        )
        assert.lengthOf(waits, 8)
        const { end } = yield* scripted([busy], { patience: "1 second" })
        const error = yield* end
        assert.instanceOf(error, Client.RequestInProgress)
        assert.strictEqual(error.retryAfterMs, 2000)
      }),
  )

  it.effect("the client sends a request only once if a retry cannot help", () =>
    Effect.gen(function* () {
      for (const [move, expected] of final) {
        const { end, requests } = yield* scripted([move])
        const error = yield* end
        if (!(error instanceof Client.ClientError)) return assert.fail(String(error))
        assert.strictEqual(error.name, expected, JSON.stringify(move))
        assert.deepStrictEqual(error.answer, bodyOf(move.body ?? ""))
        assert.strictEqual(requests.length, 1)
      }
    }),
  )
})

describe("when the database of the service does not answer in time", () => {
  const retryLater = { "retry-after": String(Envelope.retryAfterSeconds) }

  for (const message of [Envelope.unavailableMessage, Envelope.undecidedMessage]) {
    it.effect(`the client retries after the answer "${message}"`, () =>
      Effect.gen(function* () {
        const { end, requests } = yield* scripted([refused(503, retryLater, message), good])
        assert.isFalse((yield* end) instanceof Client.ClientError)
        const keys = requests.map(({ headers }) => headers["idempotency-key"])
        assert.deepStrictEqual(keys, Array(2).fill(keys[0]))
        const impatient = yield* scripted([refused(503, retryLater, message)], { patience: 0 })
        const error = yield* impatient.end
        assert.instanceOf(error, Client.ServiceFailed)
        assert.deepStrictEqual([error.status, error.message], [503, message])
      }),
    )
  }

  it.effect("a request without an idempotency key is not retried if it may have been charged", () =>
    Effect.gen(function* () {
      const message = Envelope.undecidedChargeMessage("request-1")
      const { end, requests } = yield* scripted([refused(500, {}, message), good])
      const error = yield* end
      assert.instanceOf(error, Client.ChargeUndecided)
      assert.include(error.message, "request-1")
      assert.strictEqual(requests.length, 1)
    }),
  )
})

describe("an invalid request", () => {
  it.effect("the client reports every violation of an invalid request and sends nothing", () =>
    Effect.gen(function* () {
      const { client, requests } = yield* scripted([])
      const urls = [...Array.from({ length: 50 }, () => "a"), "", "x".repeat(1001)]
      const error = yield* Effect.flip(client.check(urls, { idempotencyKey: "é" }))
      assert.instanceOf(error, Client.ValidationError)
      assert.deepStrictEqual(
        error.issues.map(({ code, path }) => [code, ...path].join(" ")),
        ["too_small urls 50", "too_big urls 51", "too_big urls", "invalid_idempotency_key"],
      )
      assert.strictEqual(requests.length, 0)
    }),
  )

  it.effect("the client cannot be created with an invalid base URL", () =>
    Effect.gen(function* () {
      const wrong = yield* Effect.flip(scripted([], { baseUrl: "localhost:8080" }))
      assert.instanceOf(wrong, Client.InvalidBaseUrl)
      assert.include(wrong.message, "localhost:8080")
    }),
  )

  it.live("no error of the client contains the API key", () =>
    Effect.gen(function* () {
      const { client: elsewhere } = yield* scripted([{ status: 404 }])
      const odd = yield* clientOf("http://127.0.0.1:2", `${key}\nsecret`)
      const nobody = yield* clientOf("http://127.0.0.1:2", key)
      const [strange, unauthorized, unreachable] = yield* Effect.all([
        Effect.flip(elsewhere.availableCredits),
        Effect.flip(odd.availableCredits),
        Effect.flip(nobody.availableCredits),
      ])
      for (const error of [strange, unauthorized, unreachable]) {
        assert.notInclude(inspect(error, { depth: 20 }) + JSON.stringify(error), "secret")
      }
      assert.instanceOf(strange, Client.UnexpectedAnswer)
      assert.instanceOf(unauthorized, Client.Unauthorized)
      assert.instanceOf(unreachable, Client.ConnectionFailed)
      assert.match(unreachable.message, /refused|ECONNREFUSED/)
    }),
  )
})
