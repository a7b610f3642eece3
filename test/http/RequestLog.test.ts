/** Tests what the log contains for each request, and which secrets it never contains. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import * as Composed from "../../src/providers/Composed.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { batch, creditsPath, start } from "../support/TestServer.ts"
import type { Answer } from "../support/RawHttp.ts"

const lineOf = (log: ReadonlyArray<string>, { headers }: Answer) => {
  const lines = log
    .map((line) => JSON.parse(line))
    .filter(({ message }) => message === "Answered a request.")
    .filter(({ annotations }) => annotations.requestId === headers["x-request-id"])
  assert.lengthOf(lines, 1)
  const { durationMs, ...fields } = lines[0].annotations
  assert.isNumber(durationMs)
  return fields
}

describe("the request log at level debug", () => {
  it.scopedLive(
    "at level debug, a request logs one line with account, status, credits and outcomes",
    () =>
      Effect.gen(function* () {
        const { account, check, credits, log, post } = yield* start({ logLevel: LogLevel.Debug })
        const common = { endpoint: "checkBatch", account }
        const urls = ["example.com", "localhost", "::", "provider-error.example.com", "example.org"]
        const checked = yield* check(urls)
        assert.deepStrictEqual(lineOf(log, checked), {
          ...common,
          requestId: checked.headers["x-request-id"],
          status: 200,
          checked: 2,
          failed: { INVALID_URL: 2, PROVIDER_ERROR: 1 },
          creditsUsed: 2,
        })
        const invalid = yield* post("{")
        assert.deepInclude(lineOf(log, invalid), { ...common, status: 400 })
        const asked = yield* credits
        assert.deepInclude(lineOf(log, asked), {
          endpoint: "availableCredits",
          account,
          status: 200,
        })
      }),
  )

  it.scopedLive("a replay is logged with the outcomes and credits of the first answer", () =>
    Effect.gen(function* () {
      const { key, log, send } = yield* start({ logLevel: LogLevel.Debug })
      const named = batch(key, '{"urls":["example.com"]}', { "idempotency-key": "one" })
      const [first, again] = [yield* send(named), yield* send(named)]
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      const { requestId: _, ...fields } = lineOf(log, first)
      assert.deepInclude(lineOf(log, again), fields)
    }),
  )

  it.scopedLive(
    "a request with a wrong API key is logged without an account, and no log line contains a secret",
    () =>
      Effect.gen(function* () {
        const moz = yield* FakeMoz.make
        moz.always({
          name: "an echo of the token",
          apply: (response, _, { headers }) => {
            response.writeHead(403).end(`no such token: ${headers["x-moz-token"]}`)
          },
        })
        const { check, key, log, send } = yield* start({
          logLevel: LogLevel.All,
          provider: Composed.undecorated(moz.layer),
        })
        yield* check(["example.com"])
        moz.always(FakeVendor.reset)
        yield* check(["example.com"])
        assert.isTrue(log.some((line) => line.includes("The provider failed to look up figures.")))
        const wrong = `${key}x`
        const refused = yield* send({ path: creditsPath, headers: { "x-api-key": wrong } })
        assert.deepStrictEqual(lineOf(log, refused), {
          requestId: refused.headers["x-request-id"],
          endpoint: "availableCredits",
          status: 401,
        })
        yield* send({ path: `${creditsPath}?x-api-key=${key}` })
        yield* send({ path: `/${key}` })
        for (const secret of [key, key.slice(3), FakeMoz.token]) {
          assert.isEmpty(log.filter((line) => line.includes(secret)))
        }
      }),
  )

  it.scopedLive("a request is logged with the endpoint that its path and method select", () =>
    Effect.gen(function* () {
      const adminToken = "a-token-for-the-tests-of-32-chars"
      const { log, send } = yield* start({ adminToken, logLevel: LogLevel.Debug })
      const headers = { authorization: `Bearer ${adminToken}` }
      const listed = yield* send({ path: "/admin/v1/accounts", headers })
      assert.deepInclude(lineOf(log, listed), { endpoint: "accounts", status: 200 })
      const refused = yield* send({ method: "DELETE", path: "/admin/v1/accounts", headers })
      assert.deepInclude(lineOf(log, refused), { endpoint: "/admin/v1/accounts", status: 405 })
    }),
  )
})

describe("the request log at level info", () => {
  it.scopedLive("a successful request is not logged at level info", () =>
    Effect.gen(function* () {
      const { check, log } = yield* start()
      const before = log.length
      assert.strictEqual((yield* check(["example.com"])).status, 200)
      assert.lengthOf(log, before)
    }),
  )
})
