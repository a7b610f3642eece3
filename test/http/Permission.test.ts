import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as ApiKey from "../../src/accounts/ApiKey.ts"
import { Api } from "../../src/contract/Api.ts"
import { keyPath } from "../../src/contract/Wire.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import type { Scope } from "../../src/accounts/Scope.ts"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { batch, batchPath, type Options, start } from "../support/TestServer.ts"

const endpoints = Object.values(Api.groups).flatMap(({ endpoints }) =>
  Object.values(endpoints).map(({ method, path }): { method: string; path: string } => ({
    method,
    path,
  })),
)

const running = (options: Options = {}) =>
  Effect.gen(function* () {
    const server = yield* start(options)
    const { account, keys, send } = server
    const newKey = (...scopes: ReadonlyArray<Scope>) =>
      Effect.map(keys.issue({ account, scopes }), ({ key }) => Redacted.value(key))
    /** Sends a request that violates the contract, if it has a body. */
    const ask = ({ method, path }: (typeof endpoints)[number], key: string) =>
      send({
        method,
        path,
        headers: { "x-api-key": key, "content-type": "application/json" },
        ...(method === "POST" && { body: "{}" }),
      })
    const describeKey = (key: string) =>
      Effect.map(send({ path: keyPath, headers: { "x-api-key": key } }), ({ text }) =>
        JSON.parse(text),
      )
    return { ...server, ask, describeKey, newKey }
  })

const suspended = { success: false, message: "The account is suspended." }

describe("a key without a scope", () => {
  it.scopedLive(
    "an API key needs the scope check for batches, and the scope read for everything else",
    () =>
      Effect.gen(function* () {
        const { ask, books, newKey } = yield* running()
        const keys = { check: yield* newKey("check"), read: yield* newKey("read") }
        for (const endpoint of endpoints) {
          const needed = endpoint.path === batchPath ? "check" : "read"
          const other = needed === "check" ? "read" : "check"
          const allowed = yield* ask(endpoint, keys[needed])
          assert.include([200, 400], allowed.status, endpoint.path)
          assert.strictEqual((yield* ask(endpoint, "am_none")).status, 401, endpoint.path)
          const wrongMethod = { ...endpoint, method: "DELETE" }
          assert.strictEqual((yield* ask(wrongMethod, keys[needed])).status, 405, endpoint.path)
          const denied = yield* ask(endpoint, keys[other])
          assert.strictEqual(denied.status, 403, endpoint.path)
          assert.deepStrictEqual(JSON.parse(denied.text), {
            success: false,
            message: `The API key does not have the scope ${needed}, which this request needs.`,
          })
        }
        assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
      }),
  )
})

describe("a suspended account", () => {
  it.scopedLive("every request of a suspended account gets 403, until it is resumed", () =>
    Effect.gen(function* () {
      const { account, accounts, ask, books, newKey, send } = yield* running()
      yield* accounts.suspend(account)
      const key = yield* newKey("check", "read")
      for (const endpoint of endpoints) {
        const { status, text } = yield* ask(endpoint, key)
        assert.deepStrictEqual([status, JSON.parse(text)], [403, suspended], endpoint.path)
      }
      assert.strictEqual((yield* send({ path: keyPath })).status, 401)
      assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
      yield* accounts.resume(account)
      const other = yield* newKey("check", "read")
      assert.strictEqual((yield* ask({ method: "GET", path: keyPath }, other)).status, 200)
    }),
  )

  it.scopedLive("a request that is in flight when its account is suspended ends normally", () =>
    Effect.gen(function* () {
      const [asked, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const provider = make((targets) =>
        Deferred.succeed(asked, undefined).pipe(
          Effect.zipRight(Deferred.await(goOn)),
          Effect.zipRight(succeeding(targets)),
        ),
      )
      const { account, accounts, books, check } = yield* running({ provider: provider.layer })
      const answer = yield* Effect.fork(check(["example.com"]))
      yield* Deferred.await(asked)
      yield* accounts.suspend(account)
      yield* Deferred.succeed(goOn, undefined)
      assert.strictEqual((yield* Fiber.join(answer)).status, 200)
      assert.deepStrictEqual(yield* books, { available: 999, held: 0, charged: 1 })
    }),
  )
})

describe("GET /v1/key, which describes the API key of the request", () => {
  it.scopedLive("a request can ask for the description of its own API key", () =>
    Effect.gen(function* () {
      const { account, describeKey, key, keys } = yield* running()
      const { data, success } = yield* describeKey(key)
      assert.isTrue(success)
      const issued = yield* keys.issue({
        account,
        label: "rank tracker",
        expiresIn: Duration.days(90),
        scopes: ["read"],
      })
      const expected = (record: ApiKey.ApiKey) => ({
        id: record.id,
        label: record.label,
        account: "acme",
        scopes: record.scopes,
        expiresAt: record.expiresAt === null ? null : new Date(record.expiresAt).toISOString(),
        budget: null,
      })
      const [first] = yield* keys.list(account)
      assert.deepStrictEqual([data], first === undefined ? [] : [expected(first)])
      const other = Redacted.value(issued.key)
      assert.deepStrictEqual((yield* describeKey(other)).data, expected(issued.record))
    }),
  )

  it.scopedLive("the description of an API key with a budget tells what is used and left", () =>
    Effect.gen(function* () {
      const { account, describeKey, keys, send } = yield* running()
      const budget = { credits: Credits.make(5), period: "total" as const }
      const issued = yield* keys.issue({ account, budget })
      const key = Redacted.value(issued.key)
      const urls = JSON.stringify({ urls: ["example.com", "example.org", "localhost"] })
      assert.strictEqual((yield* send(batch(key, urls))).status, 200)
      const expected = { ...budget, used: 2, remaining: 3, resetsAt: null }
      assert.deepStrictEqual((yield* describeKey(key)).data.budget, expected)
    }),
  )
})
