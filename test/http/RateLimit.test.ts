/** The optional limit of requests for each account. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { AccountId } from "../../src/accounts/Account.ts"
import * as RateLimit from "../../src/http/RateLimit.ts"
import { settable } from "../support/SettableClock.ts"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { start } from "../support/TestServer.ts"
import { request } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

const limit = { requests: 2, per: Duration.hours(1) }

describe("the rate limit of an account", () => {
  it.scopedLive("a request above the rate limit gets 429 with Retry-After and is not charged", () =>
    Effect.gen(function* () {
      const { books, check, credits } = yield* start({ rateLimit: limit })
      assert.strictEqual((yield* check(["example.com"])).status, 200)
      assert.strictEqual((yield* credits).status, 200)
      const refused = yield* check(["example.com"])
      assert.strictEqual(refused.status, 429)
      assert.deepStrictEqual(JSON.parse(refused.text), {
        success: false,
        message: "The account has reached its rate limit of 2 requests in 1h; try again later.",
      })
      const wait = Number(refused.headers["retry-after"])
      assert.isTrue(wait > 0 && wait <= 3600)
      assert.strictEqual(refused.headers["ratelimit-policy"], '"account";q=2;w=3600')
      assert.strictEqual(refused.headers["ratelimit"], `"account";r=0;t=${wait}`)
      assert.isString(refused.headers["x-request-id"])
      assert.strictEqual((yield* books).charged, 1)
    }),
  )

  it.scopedLive("requests with a wrong API key do not count towards an account's rate limit", () =>
    Effect.gen(function* () {
      const { credits, send } = yield* start({ rateLimit: limit })
      for (let i = 0; i < 5; i++) {
        const stranger = { path: "/v1/quota/available-credits", headers: { "x-api-key": "no" } }
        assert.strictEqual((yield* send(stranger)).status, 401)
      }
      assert.strictEqual((yield* credits).status, 200)
    }),
  )

  const [one, other] = [AccountId.make("one"), AccountId.make("other")]

  it.effect("each account has its own count, which restarts in the next window", () =>
    Effect.gen(function* () {
      const count = RateLimit.counter(limit, yield* Effect.clock)
      const isAdmitted = (account: AccountId) => count(account) === undefined
      assert.deepStrictEqual([one, one, one, other].map(isAdmitted), [true, true, false, true])
      yield* TestClock.adjust("59 minutes")
      assert.isFalse(isAdmitted(one))
      yield* TestClock.adjust("1 minute")
      assert.isTrue(isAdmitted(one))
    }),
  )

  it.effect("a rate-limited account does not wait longer when the clock is set back", () =>
    Effect.gen(function* () {
      const { adjust, clock, putBack } = yield* settable
      const count = RateLimit.counter(limit, clock)
      assert.deepStrictEqual(
        [one, one, one].map((account) => count(account) === undefined),
        [true, true, false],
      )
      putBack(Duration.hours(1))
      assert.strictEqual(count(one)?.headers["retry-after"], "3600")
      yield* adjust("1 hour")
      assert.isUndefined(count(one))
    }),
  )
})

describe("the rate limit of long lists", () => {
  it.scopedLive("history, usage and statement admit 50 requests a second from an account", () =>
    Effect.gen(function* () {
      const { account, key, keys, send } = yield* start()
      const second = Redacted.value((yield* keys.issue({ account })).key)
      const ask = (path: string, apiKey = key) => send({ path, headers: { "x-api-key": apiKey } })
      const asked = yield* Effect.forEach(
        Array.from({ length: 150 }).keys(),
        (i) => {
          if (i % 3 === 0) return ask("/v1/usage", second)
          return ask(i % 3 === 1 ? "/v1/statement" : "/v1/metrics/da-pa/history?url=example.com")
        },
        { concurrency: "unbounded" },
      )
      const refused = asked.filter(({ status }) => status === 429)
      assert.isTrue(asked.every(({ status }) => status === 200 || status === 429))
      // The requests may take longer than a second, after which the same number is admitted again.
      assert.isAtLeast(refused.length, 1)
      for (const { headers, text } of refused) {
        assert.strictEqual(headers["retry-after"], "1")
        assert.strictEqual(
          JSON.parse(text).message,
          "The account has reached its rate limit of 50 requests in 1s; try again later.",
        )
      }
      for (const path of ["/v1/key", "/v1/quota/available-credits"]) {
        assert.strictEqual((yield* ask(path)).status, 200)
      }
    }),
  )
})

describe("concurrent requests of one API key", () => {
  it.scopedLive(
    "an API key can have 256 requests in flight, and further ones get 429 until one ends",
    () =>
      Effect.gen(function* () {
        const gate = yield* Effect.makeLatch()
        const provider = make((targets) => Effect.zipRight(gate.await, succeeding(targets)))
        const { account, check, credits, keys, url } = yield* start({ provider: provider.layer })
        const other = Redacted.value((yield* keys.issue({ account })).key)
        const waiting = yield* Effect.replicateEffect(Effect.fork(check(["example.com"])), 256)
        yield* eventually("the provider is asked", () => provider.calls.length === 256)
        const refused = yield* credits
        assert.strictEqual(refused.status, 429)
        assert.strictEqual(refused.headers["retry-after"], "1")
        assert.strictEqual(
          JSON.parse(refused.text).message,
          "256 requests of this API key are under way; send fewer at a time.",
        )
        const ofOther = { path: "/v1/key", headers: { "x-api-key": other } }
        assert.strictEqual((yield* request(url, ofOther)).status, 200)
        // A request continues after its client has hung up, so it counts until its end.
        yield* Fiber.interruptAll(waiting.slice(0, 128))
        assert.strictEqual((yield* credits).status, 429)
        yield* gate.open
        for (const fiber of waiting.slice(128)) {
          assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
        }
        yield* eventually(
          "the key is served again",
          Effect.map(credits, ({ status }) => status === 200),
        )
      }),
  )
})
