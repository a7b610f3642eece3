import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { MetricsProvider, ProviderError } from "../../src/MetricsProvider.ts"
import * as Sandbox from "../../src/providers/Sandbox.ts"
import * as TestServer from "../support/TestServer.ts"

const adminToken = "a-token-for-the-tests-of-32-chars"

interface Asked {
  readonly method?: string
  readonly body?: object | string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

const running = (options: Omit<TestServer.Options, "adminToken"> = {}) =>
  Effect.map(TestServer.start({ ...options, adminToken }), (service) => {
    const ask = (path: string, { body, headers, method = "GET", token = adminToken }: Asked = {}) =>
      Effect.promise(async () => {
        const response = await fetch(`${service.url}/admin${path}`, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(body !== undefined && { "content-type": "application/json" }),
            ...headers,
          },
          ...(body !== undefined && {
            body: typeof body === "string" ? body : JSON.stringify(body),
          }),
        })
        return {
          status: response.status,
          headers: response.headers,
          body: JSON.parse(await response.text()),
        }
      })
    return { ...service, ask }
  })

describe("the administration", () => {
  it.scopedLive("the paths of the administration are 404 without a token in the settings", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer.start()
      const answer = yield* Effect.promise(() => fetch(`${url}/admin/v1/accounts`))
      assert.strictEqual(answer.status, 404)
    }),
  )

  it.scopedLive(
    "a wrong token gets 401 whatever the body, and 429 after ten; the right one passes",
    () =>
      Effect.gen(function* () {
        const { ask } = yield* running()
        for (let i = 0; i < 10; i++) {
          const { body, status } = yield* ask("/v1/accounts", {
            method: "POST",
            token: "x",
            body: "{",
          })
          assert.strictEqual(status, 401)
          assert.deepStrictEqual(Object.keys(body), ["success", "message"])
        }
        const tooMany = yield* ask("/v1/accounts/acme", { token: "x" })
        assert.strictEqual(tooMany.status, 429)
        assert.isAbove(Number(tooMany.headers.get("retry-after")), 0)
        assert.strictEqual((yield* ask("/v1/accounts/acme")).status, 200)
      }),
  )

  it.scopedLive("an account is created once, and shown by its name or its id", () =>
    Effect.gen(function* () {
      const { ask } = yield* running()
      const made = yield* ask("/v1/accounts", {
        method: "POST",
        body: { name: "büro+1", credits: 7 },
      })
      assert.strictEqual(made.status, 201)
      const { id } = made.body.data.account
      assert.deepStrictEqual(made.body.data, { account: { id, name: "büro+1" }, credits: 7 })
      const byName = yield* ask(`/v1/accounts/${encodeURIComponent("büro+1")}`)
      assert.deepInclude(byName.body.data.account, {
        id,
        available: 7,
        held: 0,
        granted: 7,
        charged: 0,
      })
      assert.deepStrictEqual((yield* ask(`/v1/accounts/${id}`)).body, byName.body)
      const again = yield* ask("/v1/accounts", { method: "POST", body: { name: "büro+1" } })
      assert.strictEqual(again.status, 409)
      assert.strictEqual((yield* ask("/v1/accounts/nobody")).status, 404)
    }),
  )

  it.scopedLive("a 400 lists every violation, and refuses a misspelled field", () =>
    Effect.gen(function* () {
      const { ask } = yield* running()
      const post = (body: object | string, headers = {}) =>
        ask("/v1/accounts", { method: "POST", body, headers })
      const { body, status } = yield* post({ name: "?", credits: -1, credit: 5 })
      assert.strictEqual(status, 400)
      assert.deepStrictEqual(body.error.issues.map(({ path }: { path: unknown }) => path).sort(), [
        ["credit"],
        ["credits"],
        ["name"],
      ])
      assert.strictEqual((yield* post("{")).body.error.issues[0].code, "invalid_json")
      const text = yield* post("{}", { "content-type": "text/plain" })
      assert.strictEqual(text.body.error.issues[0].code, "invalid_content_type")
      assert.strictEqual((yield* post("x".repeat(600_000))).status, 413)
    }),
  )

  it.scopedLive("the administration answers 404 and 405, and no page of another origin", () =>
    Effect.gen(function* () {
      const { ask } = yield* running({ corsOrigins: ["*"] })
      assert.strictEqual((yield* ask("/v1/nothing")).status, 404)
      assert.strictEqual((yield* ask("/v1/accounts/%E0%A4%A")).status, 404)
      const wrong = yield* ask("/v1/accounts/acme", { method: "PUT" })
      assert.deepStrictEqual([wrong.status, wrong.headers.get("allow")], [405, "GET"])
      const origin = { origin: "https://evil.example", "access-control-request-method": "GET" }
      for (const method of ["OPTIONS", "GET"]) {
        const { headers } = yield* ask("/v1/accounts/acme", { method, headers: origin })
        assert.isNull(headers.get("access-control-allow-origin"))
        assert.strictEqual(headers.get("cache-control"), "no-store")
      }
    }),
  )

  it.scopedLive("the state of each provider is what this process and the vendor know", () =>
    Effect.gen(function* () {
      const quota = { unit: "rows", allotted: 3000, left: 12, resetsAt: 86_400_000 }
      const error = { at: 0, reason: "Throttled" as const, message: "moz throttles" }
      const { ask } = yield* running({
        provider: Layer.map(Sandbox.layer, (context) =>
          Context.add(context, MetricsProvider, {
            ...Context.get(context, MetricsProvider),
            circuits: Effect.succeed([
              {
                provider: "moz",
                openReason: "its quota is used up",
                isExhausted: true,
                calls: { inFlight: 2, limit: 8, latencyMs: 120.5, errors: [error] },
                status: Effect.succeed({ quota, index: "2026-11-01" }),
              },
              {
                provider: "dataforseo",
                openReason: undefined,
                status: new ProviderError({
                  provider: "dataforseo",
                  reason: "Refused",
                  detail: "wrong password",
                }),
              },
            ]),
          }),
        ),
      })
      const { body } = yield* ask("/v1/provider/status")
      assert.containSubset(body.data.providers, [
        {
          provider: "moz",
          circuit: "exhausted",
          callsInFlight: 2,
          callLimit: 8,
          latencyMs: 120.5,
          errors: [{ ...error, at: "1970-01-01T00:00:00.000Z" }],
          quota: { ...quota, resetsAt: "1970-01-02T00:00:00.000Z" },
          index: "2026-11-01",
          statusError: null,
        },
        { provider: "dataforseo", circuit: "closed", callsInFlight: null, quota: null },
      ])
      assert.include(body.data.providers[1].statusError, "wrong password")
    }),
  )

  it.scopedLive("the document of the administration needs the token", () =>
    Effect.gen(function* () {
      const { ask } = yield* running()
      assert.strictEqual((yield* ask("/openapi.json", { token: "x" })).status, 401)
      const { body } = yield* ask("/openapi.json")
      assert.containsAllKeys(body.paths, ["/admin/v1/accounts", "/admin/v1/accounts/{name}"])
    }),
  )
})
