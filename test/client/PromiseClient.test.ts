/** Tests the promise client, for programs without Effect, against the service. */
import { inspect } from "node:util"
import { assert, describe, it, vi } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { bodyOf } from "../../src/client/Exchange.ts"
import {
  AuthorityMetrics,
  ChargeUndecided,
  type CheckAllOptions,
  type CheckResult,
  ClientError,
  IdempotencyKeyReused,
  InsufficientCredits,
  InvalidBaseUrl,
  type Options,
  type Outcome,
  type Progress,
  RateLimited,
  TimedOut,
  Unauthorized,
  UnexpectedAnswer,
  ValidationError,
} from "../../src/client/PromiseClient.ts"
import * as Envelope from "../../src/contract/Envelope.ts"
import { final, good, refused, type Scripted } from "../support/serviceAnswers.ts"
import { batchPath, start } from "../support/TestServer.ts"

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
  it.scopedLive("a batch has an outcome for each URL, and a repeat is marked as a replay", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const client = make(server)
      const options = { idempotencyKey: "one" }
      const report = yield* Effect.promise(() => client.check(["example.com", "a"], options))
      assert.deepStrictEqual(report.outcomes, [
        { url: "example.com", domainAuthority: 92, pageAuthority: 88, spamScore: 1 },
        { url: "a", reason: "INVALID_URL" },
      ])
      const again = yield* Effect.promise(() => client.check(["example.com", "a"], options))
      assert.isTrue(again.isReplay)
    }),
  )

  it.scopedLive("the promise client rejects with a specific error class for each failure", () =>
    Effect.gen(function* () {
      const rateLimit = { requests: 4, per: Duration.hours(1) }
      const server = yield* start({ credits: 1, rateLimit })
      const client = make(server)
      const idempotencyKey = 'order "7" \\ a'
      yield* Effect.promise(() => client.check(["example.com"], { idempotencyKey }))
      const reused = yield* rejection(client.check(["example.org"], { idempotencyKey }))
      assert.instanceOf(reused, IdempotencyKeyReused)
      const poor = yield* rejection(client.check(["example.com", "example.org"]))
      assert.instanceOf(poor, InsufficientCredits)
      assert.isTrue(poor instanceof ClientError && poor instanceof Error)
      assert.deepStrictEqual([poor.status, poor.name], [402, "InsufficientCredits"])
      assert.match(poor.requestId ?? "", /^[0-9a-f-]{36}$/)
      const none = yield* rejection(client.check([]))
      assert.instanceOf(none, ValidationError)
      assert.deepStrictEqual(
        none.issues.map(({ code }) => code),
        ["too_small"],
      )
      const limited = yield* rejection(client.availableCredits())
      assert.instanceOf(limited, RateLimited)
      assert.isAbove(limited.retryAfterMs, 3_000_000)
      const stranger = yield* rejection(make({ ...server, key: "am_none" }).check(["example.com"]))
      assert.instanceOf(stranger, Unauthorized)
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
        for await (const { outcomes } of all) assert.fail(String(outcomes))
      }
      assert.strictEqual(yield* rejection(list()), reason)
      assert.strictEqual((yield* server.books).charged, 0)
    }),
  )

  it.scopedLive("checkAll reads a list only as fast as the caller reads the results", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const client = make(server)
      let read = 0
      let isClosed = false
      async function* endless() {
        try {
          for (;;) yield `site${read++}.example.com`
        } finally {
          isClosed = true
        }
      }
      const urls: Array<string> = []
      yield* Effect.promise(async () => {
        for await (const { outcomes } of client.checkAll(endless(), { concurrency: 2 })) {
          urls.push(...outcomes.map(({ url }) => url))
          if (urls.length === 150) break
        }
      })
      assert.deepStrictEqual(
        urls,
        Array.from({ length: 150 }, (_, i) => `site${i}.example.com`),
      )
      assert.isBelow(read, 500)
      assert.isTrue(isClosed)
    }),
  )

  it.scopedLive("the promise client reports the credits of each batch and their sum", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const client = make(server)
      const urls = Array.from({ length: 170 }, (_, i) => `site${i}.example.com`)
      urls[3] = ""
      urls[60] = "x".repeat(1001)
      urls.fill("", 100, 150)
      const progress: Array<Progress> = []
      const options: CheckAllOptions = {
        idempotencyKey: "list",
        onProgress: (sums) => progress.push(sums),
      }
      const results = yield* collected(client.checkAll(urls, options))
      assert.deepStrictEqual(
        results.flatMap(({ outcomes }) => outcomes.map(({ url }) => url)),
        urls,
      )
      assert.deepStrictEqual(
        progress.map(({ creditsUsed, outcomes }) => [outcomes, creditsUsed]),
        [
          [50, 49],
          [100, 98],
          [150, 98],
          [170, 118],
        ],
      )
      const ids = (yield* server.charges).map(({ requestId }) => requestId)
      assert.sameMembers(
        results.map(({ requestId }) => requestId),
        [...ids, undefined],
      )
      const again = yield* collected(client.checkAll(urls, options))
      assert.deepStrictEqual(
        again.map(({ isReplay }) => isReplay),
        [true, true, false, true],
      )
      assert.strictEqual((yield* server.books).charged, 118)
    }),
  )

  it.scopedLive(
    "checkAll pays for a target once, although its spellings are in different batches",
    () =>
      Effect.gen(function* () {
        const server = yield* start()
        const hosts = Array.from({ length: 60 }, (_, i) => `site${i}.example.com`)
        const urls = [...hosts, "localhost", ...hosts.map((host) => `HTTPS://${host}/#top`)]
        const results = yield* collected(make(server).checkAll(urls, { provenance: true }))
        const outcomes = results.flatMap(({ outcomes }) => outcomes)
        assert.deepStrictEqual(
          outcomes.map(({ url }) => url),
          urls,
        )
        assert.strictEqual(outcomes.filter((outcome) => "provenance" in outcome).length, 120)
        assert.deepStrictEqual(
          results.map(({ creditsUsed }) => creditsUsed),
          [50, 10, 0],
        )
        assert.strictEqual((yield* server.books).charged, 60)
      }),
  )

  it.scopedLive(
    "with provenance, even a URL that checkAll does not send gets a cause and a detail",
    () =>
      Effect.gen(function* () {
        const client = make(yield* start())
        const invalid = { reason: "INVALID_URL", cause: "invalid" } as const
        const failures: ReadonlyArray<Outcome> = [
          { url: "", ...invalid, detail: "it is empty." },
          { url: "a".repeat(1001), ...invalid, detail: "it is too long." },
        ]
        const urls = failures.map(({ url }) => url)
        const options = { provenance: true }
        const unsent = yield* Effect.promise(() => client.check(urls, options))
        assert.deepStrictEqual(unsent.outcomes, failures)
        const sent = yield* Effect.promise(() => client.check([...urls, "example.com"], options))
        assert.deepStrictEqual(sent.outcomes.slice(0, 2), failures)
      }),
  )

  it.scopedLive(
    "checkAll yields results before it has read the whole list, even if the list then throws",
    () =>
      Effect.gen(function* () {
        const server = yield* start()
        const client = make(server)
        const { promise, resolve } = Promise.withResolvers<void>()
        async function* slow() {
          yield* batch
          await promise
          yield "example.com"
          throw new Error("the list broke")
        }
        const sizes: Array<number> = []
        const list = async () => {
          for await (const { outcomes } of client.checkAll(slow())) {
            sizes.push(outcomes.length)
            resolve()
          }
        }
        assert.deepStrictEqual(yield* rejection(list()), new Error("the list broke"))
        assert.deepStrictEqual(sizes, [50])
        assert.strictEqual((yield* server.books).charged, 50)
      }),
  )
})

/** Makes a client of a fake service, which gives the answers `moves` in order and then none. */
const scripted = (
  moves: ReadonlyArray<Scripted | "reset" | "cut" | "silence">,
  options: Partial<Options> = {},
) => {
  const requests: Array<{ readonly url: string; readonly request: RequestInit }> = []
  const client = AuthorityMetrics({
    baseUrl: "http://service/prefix/",
    apiKey: "am_secret",
    fetch: async (url, request) => {
      const move = moves[requests.length]
      requests.push({ url, request })
      if (move === undefined || move === "silence") return new Promise(() => {})
      if (move === "reset") throw new TypeError("fetch failed", { cause: new Error("reset") })
      if (move === "cut") return new Response(cutOff(), { headers: { "x-request-id": "7" } })
      const { body = "", headers = {}, status } = move
      return new Response(body, { status, headers })
    },
    ...options,
  })
  return { client, requests, header: (name: string) => headersOf(requests).map((h) => h.get(name)) }
}

const headersOf = (requests: ReadonlyArray<{ readonly request: RequestInit }>) =>
  requests.map(({ request }) => new Headers(request.headers))

const cutOff = () =>
  new ReadableStream({
    start: (controller) => controller.error(new Error("cut off")),
  })

/** Runs a test with fake timers. */
const onTestClock = (test: () => Promise<void>) => async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] })
  try {
    await test()
  } finally {
    vi.useRealTimers()
  }
}

const hourMs = 3_600_000

/** Returns the value or the error of the promise, after the fake clock has advanced by an hour. */
const ended = async <A>(promise: Promise<A>) => {
  const end = promise.catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(hourMs)
  return end
}

describe("the promise client when the service fails", () => {
  it(
    "a failed request is sent again with the same idempotency key until it succeeds",
    onTestClock(async () => {
      const moves = [refused(500), "reset", refused(409), { status: 503 }, "cut", good] as const
      const retries: Array<string> = []
      const { client, header, requests } = scripted(moves, {
        patienceMs: 300_000,
        onRetry: ({ _tag }) => void retries.push(_tag),
      })
      const result = await ended(client.check(["a"]))
      assert.deepNestedInclude(result, { "outcomes[0].reason": "INVALID_URL" })
      assert.deepStrictEqual(retries, [
        "ServiceFailed",
        "ConnectionFailed",
        "RequestInProgress",
        "ServiceFailed",
        "ConnectionFailed",
      ])
      const keys = header("idempotency-key")
      assert.strictEqual(new Set(keys).size, 1)
      assert.match(keys[0] ?? "", /^"[0-9a-f-]{36}"$/)
      const sent = requests.map(({ request, url }) => [url, request.method, request.body])
      const url = `http://service/prefix${batchPath}`
      assert.deepStrictEqual(sent, Array(6).fill([url, "POST", '{"urls":["a"]}']))
    }),
  )

  it(
    "a retry waits for Retry-After, unless that would exceed patienceMs",
    onTestClock(async () => {
      const busy = refused(503, { "retry-after": "20" })
      const { client, requests } = scripted([busy, good])
      const result = client.check(["a"])
      await vi.advanceTimersByTimeAsync(19_999)
      assert.lengthOf(requests, 1)
      await vi.advanceTimersByTimeAsync(1)
      await result
      assert.lengthOf(requests, 2)

      for (const [answer, error] of [
        [busy, "ServiceFailed"],
        [refused(429, { "retry-after": "20" }), "RateLimited"],
      ] as const) {
        const impatient = scripted([answer, good], { patienceMs: 19_999 })
        assert.deepInclude(await ended(impatient.client.check(["a"])), { _tag: error })
        assert.lengthOf(impatient.requests, 1)
      }
    }),
  )

  it(
    "after a 409 for a request in progress, the promise client retries at the interval of Retry-After",
    onTestClock(async () => {
      const waits: Array<number> = []
      const busy = Array.from({ length: 8 }, () => refused(409, { "retry-after": "2" }))
      const { client } = scripted([...busy, good], { onRetry: (_, ms) => void waits.push(ms) })
      await ended(client.check(["a"]))
      assert.deepStrictEqual(waits, Array(8).fill(2000))
    }),
  )

  it(
    "an attempt without an answer ends after timeoutMs, and is repeated for at most patienceMs",
    onTestClock(async () => {
      const once = scripted([], { timeoutMs: 1000, patienceMs: 0 })
      assert.instanceOf(await ended(once.client.check(["a"])), TimedOut)
      assert.lengthOf(once.requests, 1)
      assert.strictEqual(vi.getTimerCount(), 0)
      const { client, header } = scripted(["silence", good])
      assert.deepInclude(await ended(client.check(["a"])), { creditsUsed: 0 })
      assert.lengthOf(new Set(header("idempotency-key")), 1)
      const silent = scripted([])
      assert.instanceOf(await ended(silent.client.check(["a"])), TimedOut)
      assert.lengthOf(silent.requests, 3)
      const failures = Array.from({ length: 100 }, () => ({ status: 502, body: "<html>" }))
      const broken = scripted(failures)
      const error = await ended(broken.client.check(["a"]))
      assert.deepInclude(error, { _tag: "ServiceFailed", status: 502 })
      assert.isAbove(broken.requests.length, 3)
      assert.isBelow(broken.requests.length, 20)
    }),
  )

  it(
    "an abort signal ends the promise client's wait for a retry",
    onTestClock(async () => {
      const { abort, signal } = aborter()
      const { client, requests } = scripted([refused(503, { "retry-after": "20" })])
      const end = client.check(["a"], { signal }).catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(1000)
      const reason = new Error("enough")
      abort(reason)
      assert.strictEqual(await end, reason)
      assert.lengthOf(requests, 1)
      assert.strictEqual(vi.getTimerCount(), 0)
    }),
  )

  it("the promise client sends a request once if a retry cannot help, and its error contains the answer", async () => {
    for (const [move, expected] of final) {
      const { client, requests } = scripted([move])
      const error = await client.check(["a"]).catch((error: unknown) => error)
      if (!(error instanceof ClientError)) return assert.fail(String(error))
      assert.deepStrictEqual([error.name, error.answer], [expected, bodyOf(move.body ?? "")])
      assert.lengthOf(requests, 1)
      assert.notInclude(inspect(error, { depth: 20 }) + JSON.stringify(error), "secret")
    }
  })

  it("the promise client reports that its base URL redirects, even in a browser", async () => {
    // A browser's answer to a redirect that it does not follow has the status 0.
    const hidden = Response.error()
    for (const response of [new Response("", { status: 302 }), hidden]) {
      const { client } = scripted([], { fetch: async () => response })
      const error = await client.check(["a"]).catch((error: unknown) => error)
      assert.instanceOf(error, UnexpectedAnswer)
      assert.deepStrictEqual(error.status, response.status)
      assert.match(error.message, /redirects to another address/)
    }
  })

  it("the promise client does not retry after a 500 which says that the request may have been charged, and the client's error contains the request id", async () => {
    const message = Envelope.undecidedChargeMessage("request-1")
    const { client } = scripted([refused(500, {}, message), good])
    const error = await client.check(["a"]).catch((error: unknown) => error)
    assert.instanceOf(error, ChargeUndecided)
    assert.include(error.message, "request-1")
  })

  it("the promise client yields the results of the batches before a failed batch, then rejects", async () => {
    const signals: Array<AbortSignal | null | undefined> = []
    const allSent = Promise.withResolvers<void>()
    const { client } = scripted([], {
      fetch: async (url, { body, signal }) => {
        if (url.endsWith("/preview")) return new Response("", { status: 404 })
        const { urls } = JSON.parse(String(body))
        signals.push(signal)
        if (signals.length === 3) allSent.resolve()
        if (urls[0] === "c") return new Promise(() => {})
        await allSent.promise
        if (urls[0] === "b") return new Response(refused(402).body, { status: 402 })
        const failedUrls = urls.map((url: string) => ({ url, reason: "PROVIDER_ERROR" }))
        const data = { successUrls: [], failedUrls }
        const quota = { creditsUsed: 0 }
        return new Response(JSON.stringify({ success: true, data, quota }))
      },
    })
    const results: Array<CheckResult> = []
    const list = async () => {
      const urls = ["a", "b", "c"].flatMap((url) => Array<string>(50).fill(url))
      // Only the first of the identical URLs is sent.
      for await (const result of client.checkAll(urls)) results.push(result)
    }
    const error = await list().catch((error: unknown) => error)
    assert.instanceOf(error, InsufficientCredits)
    assert.lengthOf(results, 1)
    assert.isTrue(signals[2]?.aborted)
  })
})

describe("the options of the promise client", () => {
  it("the promise client cannot be created with an invalid base URL", () => {
    const wrong = [
      "",
      "localhost:8080",
      "/api",
      "ftp://a.example",
      "http://u:pass@a.example",
      "http://a.example?b",
      "http://a.example/console#",
      "http://a.example/?",
    ]
    for (const baseUrl of wrong) {
      const make = () => AuthorityMetrics({ baseUrl, apiKey: "am_1" })
      assert.throws(make, InvalidBaseUrl, /write an address like https:\/\/authority\.example\.com/)
      assert.throws(make, baseUrl.includes("pass") ? "…@a.example" : baseUrl)
    }
    assert.doesNotThrow(() => scripted([], { baseUrl: new URL("https://a.example/b/") }))
  })

  it("every request of the promise client contains the client's version and the caller's headers", async () => {
    const headers = { "X-Team": "seo", "x-api-key": "am_other", "User-Agent": "mine" }
    const { client, header } = scripted([good], { headers })
    await client.check(["a"])
    assert.deepStrictEqual(header("x-team"), ["seo"])
    assert.deepStrictEqual(header("x-api-key"), ["am_secret"])
    assert.deepStrictEqual(header("user-agent"), ["mine"])
    const plain = scripted([good])
    await plain.client.check(["a"])
    assert.match(plain.header("user-agent")[0] ?? "", /^authority-metrics\/\S+$/)
  })

  it("the promise client refuses an invalid API key or list before it sends anything", async () => {
    const odd = scripted([], { apiKey: "am_1\nsecret" })
    const refusal = await odd.client.check(["a"]).catch((error: unknown) => error)
    assert.instanceOf(refusal, Unauthorized)
    assert.notInclude(inspect(refusal), "secret")
    const { client, requests } = scripted([])
    const text = async () => {
      for await (const { outcomes } of client.checkAll("example.com")) assert.fail(String(outcomes))
    }
    assert.instanceOf(await text().catch((error: unknown) => error), ValidationError)
    assert.lengthOf([...odd.requests, ...requests], 0)
  })
})

const aborter = () => {
  const controller = new AbortController()
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) }
}

const collected = (results: AsyncIterable<CheckResult>) =>
  Effect.promise(async () => {
    const all: Array<CheckResult> = []
    for await (const result of results) all.push(result)
    return all
  })

const batch = Array.from({ length: 50 }, (_, i) => `site${i}.example.com`)
