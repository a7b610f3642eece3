import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Accounts } from "../../src/accounts/Account.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import * as memory from "../support/memory.ts"
import { MetricsProvider, ProviderError } from "../../src/providers/MetricsProvider.ts"
import { Costs, nothing } from "../../src/providers/costs/Costs.ts"
import * as SqlCosts from "../../src/providers/costs/SqlCosts.ts"
import * as Sandbox from "../../src/providers/vendors/Sandbox.ts"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import * as Usage from "../../src/ledger/usage/Usage.ts"
import { eventually } from "../support/eventually.ts"
import { forAll } from "../support/properties.ts"
import {
  hasPostgres,
  postgresDatabase,
  sqliteFile,
  stores,
  temporaryDatabase,
} from "../support/Stores.ts"
import * as TestServer from "../support/TestServer.ts"

const adminToken = "a-token-for-the-tests-of-32-chars"

interface Asked {
  readonly method?: string
  readonly body?: object | string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

interface AccountList {
  readonly accounts: ReadonlyArray<{ readonly name: string }>
}

const start = (options: Omit<TestServer.Options, "adminToken"> = {}) =>
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
    return {
      ...service,
      ask,
      /** The status of a request that a key with the scope `read` may send. */
      creditsStatus: Effect.map(service.credits, ({ status }) => status),
      /** What `credits verify` finds. */
      problems: Effect.map(service.ledger.verify, ({ problems }) => problems),
    }
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
        const { ask } = yield* start()
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

  it.scopedLive("a 400 lists every violation, and refuses a misspelled field", () =>
    Effect.gen(function* () {
      const { ask } = yield* start()
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

  it.scopedLive("a wrong field of a key has one issue", () =>
    Effect.gen(function* () {
      const { ask } = yield* start()
      const make = (body: object) => ask("/v1/accounts/acme/keys", { method: "POST", body })
      const { id } = (yield* make({})).body.data
      const change = (body: object) => ask(`/v1/keys/${id}`, { method: "PATCH", body })
      const long = "x".repeat(201)
      for (const [answer, path, message] of [
        [yield* make({ scopes: ["write"] }), ["scopes", "0"], /^Expected check or read$/],
        [yield* make({ expiresIn: "0s" }), ["expiresIn"], /longer than 0$/],
        [yield* change({ scopes: ["write"] }), ["scopes", "0"], /^Expected check or read$/],
        [yield* change({ budget: "none" }), ["budget"], /^expected a budget such as/],
        [yield* change({ label: long }), ["label"], /at most 200 character/],
      ] as const) {
        const { issues } = answer.body.error
        assert.deepStrictEqual([answer.status, issues.length, issues[0].path], [400, 1, path])
        assert.match(issues[0].message, message)
      }
    }),
  )

  it.scopedLive("the scopes of a new key are in one order, each once", () =>
    Effect.gen(function* () {
      const { ask } = yield* start()
      const body = { scopes: ["read", "check", "read"] }
      const made = yield* ask("/v1/accounts/acme/keys", { method: "POST", body })
      assert.deepStrictEqual(made.body.data.scopes, ["check", "read"])
    }),
  )

  it.scopedLive("the administration answers 404 and 405, and no page of another origin", () =>
    Effect.gen(function* () {
      const { ask } = yield* start({ corsOrigins: ["*"] })
      assert.strictEqual((yield* ask("/v1/nothing")).status, 404)
      assert.strictEqual((yield* ask("/v1/accounts/%E0%A4%A")).status, 404)
      const wrong = yield* ask("/v1/accounts/acme", { method: "PUT" })
      assert.deepStrictEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, PATCH"])
      const origin = { origin: "https://evil.example", "access-control-request-method": "GET" }
      for (const method of ["OPTIONS", "GET"]) {
        const { headers } = yield* ask("/v1/accounts/acme", { method, headers: origin })
        assert.isNull(headers.get("access-control-allow-origin"))
        assert.strictEqual(headers.get("cache-control"), "no-store")
      }
    }),
  )

  it.scopedLive("a request gets 503 at its deadline while accounts or keys cannot be read", () =>
    Effect.gen(function* () {
      const waiting = { find: () => Effect.never, search: () => Effect.never }
      const { ask } = yield* start({
        requestTimeout: "200 millis",
        stores: Layer.map(Layer.orDie(sqliteFile(":memory:")), (context) =>
          context.pipe(
            Context.add(Accounts, { ...Context.get(context, Accounts), ...waiting }),
            Context.add(ApiKeys, { ...Context.get(context, ApiKeys), search: () => Effect.never }),
          ),
        ),
      })
      const paths = ["/v1/accounts", "/v1/accounts/acme", "/v1/usage?account=acme", "/v1/keys"]
      for (const path of paths) {
        const { headers, status } = yield* ask(path)
        assert.deepStrictEqual([path, status, headers.get("retry-after")], [path, 503, "1"])
      }
    }),
  )

  it.scopedLive("the state of each provider is what this process and the vendor know", () =>
    Effect.gen(function* () {
      const quota = { unit: "rows", allotted: 3000, left: 12, resetsAt: 86_400_000 }
      const error = { at: 0, reason: "Throttled" as const, message: "moz throttles" }
      const { ask } = yield* start({
        provider: Layer.map(Sandbox.layer, (context) =>
          Context.add(context, MetricsProvider, {
            ...Context.get(context, MetricsProvider),
            circuits: Effect.succeed([
              {
                provider: "moz",
                openReason: "its quota is used up",
                isExhausted: true,
                isPaused: false,
                calls: { inFlight: 2, limit: 8, latencyMs: 120.5, errors: [error] },
                status: Effect.succeed({ quota, index: "2026-11-01" }),
              },
              {
                provider: "dataforseo",
                openReason: undefined,
                isExhausted: false,
                isPaused: true,
                calls: { inFlight: 0, limit: 8, latencyMs: null, errors: [] },
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
        {
          provider: "dataforseo",
          circuit: "closed",
          reason: "the provider asked for a pause",
          callsInFlight: 0,
          quota: null,
        },
      ])
      assert.include(body.data.providers[1].statusError, "wrong password")
    }),
  )

  it.scopedLive(
    "the report of the providers has what calls cost and what was sold, and asks the vendors on demand",
    () =>
      Effect.gen(function* () {
        const cost = { ...nothing, calls: 2, rows: 8, cost: 80_000, unanswered: 1 }
        const costs = Layer.tap(memory.costs, (context) =>
          Context.get(context, Costs).add([{ ...cost, provider: "moz", day: 20_000 }]),
        )
        const { ask, check } = yield* start({ costs })
        yield* check(["a.com", "b.com"])
        const { body } = yield* ask("/v1/provider/report")
        const [bought, { day, ...sold }] = body.data.rows
        assert.deepStrictEqual(bought, { ...cost, provider: "moz", day: "2024-10-04", cost: 0.08 })
        assert.deepStrictEqual(sold, { provider: null, answeredFromCache: 0, creditsCharged: 2 })
        const none = yield* ask("/v1/provider/report?until=2024-01-01")
        assert.deepStrictEqual(none.body.data, { rows: [] })
        const wrong = yield* ask("/v1/provider/report?since=yesterday&limit=0&reconcile=yes")
        assert.strictEqual(wrong.status, 400)
        assert.lengthOf(wrong.body.error.issues, 3)
        const counted = yield* ask(`/v1/provider/report?since=${day}&limit=1&reconcile=true`)
        assert.deepStrictEqual(counted.body.data.counts, [])
        assert.strictEqual((yield* ask("/v1/provider/reconcile", { method: "POST" })).status, 404)
      }),
  )

  it.scopedLive("the document of the administration needs the token", () =>
    Effect.gen(function* () {
      const { ask } = yield* start()
      assert.strictEqual((yield* ask("/openapi.json", { token: "x" })).status, 401)
      const { body } = yield* ask("/openapi.json")
      assert.containsAllKeys(body.paths, ["/admin/v1/accounts", "/admin/v1/accounts/{name}"])
      const { "401": refused, "429": limited } = body.paths["/admin/v1/accounts"].get.responses
      assert.strictEqual(refused.description, "The token is absent or wrong.")
      assert.match(limited.description, /wrong tokens/)
      for (const path of [
        "/admin/v1/accounts",
        "/admin/v1/accounts/{name}/credits",
        "/admin/v1/accounts/{name}/keys",
        "/admin/v1/keys/{id}/rotate",
      ]) {
        const { parameters, responses } = body.paths[path].post
        assert.isTrue(
          parameters.some(({ name }: { name: string }) => name === "idempotency-key"),
          path,
        )
        assert.containsAllKeys(responses["200"].headers, ["idempotent-replayed"], path)
      }
    }),
  )
})

for (const [store, layer] of stores) {
  const running = (options: Omit<TestServer.Options, "adminToken"> = {}) =>
    start({ stores: Layer.orDie(layer), ...options })

  describe(`the administration on ${store}`, () => {
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

    it.scopedLive("accounts are searched page by page, and a suspended one gets 403", () =>
      Effect.gen(function* () {
        const { ask, key, url } = yield* running()
        for (const name of ["beta", "gamma", "delta"]) {
          yield* ask("/v1/accounts", { method: "POST", body: { name } })
        }
        const names = ({ body }: { readonly body: { readonly data: AccountList } }) =>
          body.data.accounts.map(({ name }) => name)
        const first = yield* ask("/v1/accounts?limit=2")
        assert.deepStrictEqual(names(first), ["delta", "gamma"])
        // A script that took the name for the id would get the first page again, without end.
        assert.strictEqual((yield* ask("/v1/accounts?limit=2&before=gamma")).status, 400)
        const next = yield* ask(`/v1/accounts?limit=2&before=${first.body.data.accounts[1].id}`)
        assert.deepStrictEqual(names(next), ["beta", "acme"])
        assert.deepStrictEqual(names(yield* ask("/v1/accounts?search=MM")), ["gamma"])
        assert.deepStrictEqual(names(yield* ask(`/v1/accounts?search=${key.slice(0, 8)}`)), [
          "acme",
        ])

        const suspend = (suspended: boolean) =>
          ask("/v1/accounts/acme", { method: "PATCH", body: { suspended } })
        const credits = Effect.promise(() =>
          fetch(`${url}${TestServer.creditsPath}`, { headers: { "x-api-key": key } }),
        )
        assert.isTrue((yield* suspend(true)).body.data.account.suspended)
        assert.strictEqual((yield* credits).status, 403)
        assert.isFalse((yield* suspend(false)).body.data.account.suspended)
      }),
    )

    it.scopedLive("credits are granted and corrected, never below what is used", () =>
      Effect.gen(function* () {
        const { ask } = yield* running({ credits: 10 })
        const change = (body: object) => ask("/v1/accounts/acme/credits", { method: "POST", body })
        const granted = yield* change({ amount: 10_000, note: "typed a zero too many" })
        assert.deepInclude(granted.body.data, { account: "acme", available: 10_010 })
        const corrected = yield* change({ amount: -9000, note: "invoice 7 is 1,000" })
        assert.deepInclude(corrected.body.data, { available: 1010, granted: 1010, charged: 0 })
        assert.strictEqual((yield* change({ amount: -1011, note: "too much" })).status, 409)
        for (const [body, path, message] of [
          [{ amount: -1 }, ["note"]],
          [{ amount: 1, note: "x".repeat(201) }, ["note"]],
          [{ amount: 0 }, ["amount"]],
          [{ amount: 1.5 }, ["amount"], "Expected integer, received number"],
          [{}, ["amount"]],
        ] as const) {
          const refused = yield* change(body)
          assert.strictEqual(refused.status, 400)
          assert.deepStrictEqual(refused.body.error.issues[0].path, path)
          if (message !== undefined) {
            assert.strictEqual(refused.body.error.issues[0].message, message)
          }
        }
        const { body } = yield* ask("/v1/accounts/acme/statement?limit=2")
        assert.containSubset(body.data, {
          account: "acme",
          entries: [
            {
              sequence: 3,
              kind: "correction",
              amount: -9000,
              balanceAfter: 1010,
              note: "invoice 7 is 1,000",
            },
            { sequence: 2, kind: "grant", amount: 10_000, balanceAfter: 10_010 },
          ],
        })
        const older = yield* ask("/v1/accounts/acme/statement?before=2")
        assert.lengthOf(older.body.data.entries, 1)
      }),
    )

    it.scopedLive(
      "a grant above what an account can hold is refused, and the refusal is a line",
      () =>
        Effect.gen(function* () {
          const { ask, problems } = yield* running({ credits: 10 })
          const grant = (amount: number) =>
            ask("/v1/accounts/acme/credits", { method: "POST", body: { amount } })
          assert.strictEqual((yield* grant(Number.MAX_SAFE_INTEGER - 11)).status, 200)
          const { body, status } = yield* grant(2)
          const message = "the account can get at most 1 credit more"
          assert.deepStrictEqual([status, body.message], [409, message])
          const { body: log } = yield* ask("/v1/audit?limit=1")
          const line = { action: "credits.grant", subject: "acme", detail: { refused: message } }
          assert.deepInclude(log.data.entries[0], line)
          assert.strictEqual((yield* grant(1)).status, 200)
          assert.deepStrictEqual(yield* problems, [])
        }),
    )

    it.scopedLive("a key is created, found, changed, rotated and revoked", () =>
      Effect.gen(function* () {
        const { ask, url } = yield* running()
        const made = yield* ask("/v1/accounts/acme/keys", {
          method: "POST",
          body: { label: "rank tracker", expiresIn: "90d", budget: "2/day", scopes: ["check"] },
        })
        assert.strictEqual(made.status, 201)
        const { id, key } = made.body.data
        assert.deepInclude(made.body.data, { account: "acme", scopes: ["check"], budget: "2/day" })
        const check = (apiKey: string, urls: ReadonlyArray<string>) =>
          Effect.promise(() =>
            fetch(`${url}${TestServer.batchPath}`, {
              method: "POST",
              headers: { "x-api-key": apiKey, "content-type": "application/json" },
              body: JSON.stringify({ urls }),
            }),
          )
        assert.strictEqual((yield* check(key, ["a.com"])).status, 200)
        assert.strictEqual((yield* check(key, ["a.com", "b.com"])).status, 402)

        const { body: found } = yield* ask("/v1/keys?search=RANK")
        assert.containSubset(found.data.keys, [
          {
            id,
            account: "acme",
            start: key.slice(0, 9),
            label: "rank tracker",
            state: "active",
            budget: { credits: 2, period: "day", used: 1, remaining: 1 },
          },
        ])
        const { body: own } = yield* ask("/v1/accounts/acme/keys")
        assert.deepStrictEqual(own.data.keys[0], found.data.keys[0])
        const page = (query: string) =>
          Effect.map(ask(`/v1/accounts/acme/keys?${query}`), ({ body }) => body.data.keys)
        yield* ask("/v1/accounts", { method: "POST", body: { name: "beta" } })
        yield* ask("/v1/accounts/beta/keys", { method: "POST", body: {} })
        assert.deepStrictEqual(yield* page("limit=1"), [own.data.keys[0]])
        assert.deepStrictEqual(yield* page(`limit=1&before=${id}`), [own.data.keys[1]])
        assert.strictEqual((yield* ask("/v1/accounts/acme/keys?limit=1001")).status, 400)

        const patch = (body: object) => ask(`/v1/keys/${id}`, { method: "PATCH", body })
        const changed = yield* patch({ label: null, budget: "9/total", scopes: ["read", "check"] })
        assert.containSubset(changed.body.data.key, {
          label: null,
          budget: { credits: 9, period: "total", used: 0, resetsAt: null },
        })
        assert.isNull((yield* patch({ label: "" })).body.data.key.label)
        assert.isNull((yield* patch({ budget: null })).body.data.key.budget)
        assert.strictEqual((yield* patch({ budget: "9/year" })).status, 400)
        const before = yield* ask("/v1/audit")
        const unchanged = yield* patch({})
        assert.strictEqual(unchanged.status, 400)
        assert.include(JSON.stringify(unchanged.body), "Expected a label, a budget or scopes")
        assert.deepStrictEqual((yield* ask("/v1/audit")).body, before.body)

        const rotated = yield* ask(`/v1/keys/${id}/rotate`, {
          method: "POST",
          body: { grace: "1h" },
        })
        assert.strictEqual(rotated.status, 201)
        assert.strictEqual((yield* check(rotated.body.data.key, ["a.com"])).status, 200)
        const successor = rotated.body.data.id
        const revoked = yield* ask(`/v1/keys/${successor}`, { method: "DELETE" })
        assert.strictEqual(revoked.body.data.id, successor)
        assert.strictEqual((yield* check(rotated.body.data.key, ["a.com"])).status, 401)
        assert.strictEqual(
          (yield* ask(`/v1/keys/${successor}/rotate`, { method: "POST" })).status,
          404,
        )
        assert.strictEqual((yield* ask("/v1/keys/none", { method: "DELETE" })).status, 404)
      }),
    )

    it.scopedLive("usage is reported by account, key and day", () =>
      Effect.gen(function* () {
        const { ask, key, keyId, url } = yield* running()
        yield* Effect.promise(() =>
          fetch(`${url}${TestServer.batchPath}`, {
            method: "POST",
            headers: { "x-api-key": key, "content-type": "application/json" },
            body: JSON.stringify({ urls: ["a.com", "localhost"] }),
          }),
        )
        const used = { checks: 1, credits: 1, failed: { INVALID_URL: 1 } }
        const rowsOf = (query: string) =>
          Effect.map(ask(`/v1/usage?${query}`), ({ body }) => body.data.rows)
        assert.containSubset(yield* rowsOf("by=account"), [{ account: "acme", ...used }])
        assert.containSubset(yield* rowsOf("by=key&account=acme"), [
          { key: { id: keyId }, ...used },
        ])
        const day = new Date().toISOString().slice(0, 10)
        assert.containSubset(yield* rowsOf(`since=${day}`), [{ day, ...used }])
        assert.deepStrictEqual(yield* rowsOf("until=2026-01-01"), [])
        assert.strictEqual((yield* ask("/v1/usage?account=nobody")).status, 404)
        const year = yield* ask("/v1/usage?by=year")
        assert.strictEqual(year.status, 400)
        assert.strictEqual(year.body.error.issues[0].message, "Expected day, key or account")
        const typo = { amount: 1, nte: "a note" }
        const misspelt = yield* ask("/v1/accounts/acme/credits", { method: "POST", body: typo })
        assert.deepInclude(misspelt.body.error.issues[0], {
          path: ["nte"],
          message: "Unknown field",
        })
      }),
    )

    it.scopedLive("every change and every refused one is a line of the audit log", () =>
      Effect.gen(function* () {
        const { ask } = yield* running()
        yield* ask("/v1/accounts", { method: "POST", body: { name: "beta", credits: 5 } })
        const correction = { amount: -6, note: "never given" }
        yield* ask("/v1/accounts/beta/credits", { method: "POST", body: correction })
        yield* ask("/v1/keys/none", { method: "DELETE" })
        const { body } = yield* ask("/v1/audit?limit=4")
        const lines: ReadonlyArray<{ readonly sequence: number; readonly actor: string }> =
          body.data.entries
        assert.containSubset(lines, [
          { action: "key.revoke", subject: "none" },
          { action: "credits.correct", subject: "beta" },
          { action: "credits.grant" },
          { action: "account.create", subject: "beta" },
        ])
        assert.include(body.data.entries[1].detail.refused, "only 5 credits can be taken away")
        for (const { actor } of lines) assert.strictEqual(actor, "admin@127.0.0.1")
        const older = yield* ask(`/v1/audit?limit=1&before=${lines[3]?.sequence}`)
        assert.strictEqual(older.body.data.entries[0].actor, "serve")
        const query = "subject=beta&actor=admin@127.0.0.1&action=account.create"
        const found = yield* ask(`/v1/audit?${query}`)
        assert.deepStrictEqual(found.body.data.entries, [lines[3]])
      }),
    )

    it.scopedLive("the overview has 30 days of sales, customers that run out, and vendors", () =>
      Effect.gen(function* () {
        const today = Usage.dayOf(Date.now())
        const cost = { ...nothing, calls: 2, rows: 8, cost: 80_000 }
        const ofStore = SqlCosts.layer.pipe(Layer.provide(layer), Layer.orDie)
        const costs = Layer.tap(ofStore, (context) =>
          Context.get(context, Costs).add([
            { ...cost, provider: "moz", day: today },
            { ...cost, provider: "http", day: today - 1, cost: null },
            { ...cost, provider: "moz", day: today - 30 },
          ]),
        )
        const error = { at: 0, reason: "Timeout", message: "moz did not answer in time" } as const
        const provider = Layer.map(Sandbox.layer, (context) =>
          Context.add(context, MetricsProvider, {
            ...Context.get(context, MetricsProvider),
            circuits: Effect.succeed([
              {
                provider: "moz",
                openReason: undefined,
                isExhausted: false,
                isPaused: false,
                calls: { inFlight: 0, limit: 8, latencyMs: null, errors: [error] },
                status: Effect.succeed({}),
              },
            ]),
          }),
        )
        const { ask, check, keys, url } = yield* running({
          costs,
          provider,
          credits: 5,
          creditValue: 12_500,
          ceilingOf: (vendor) => (vendor === "moz" ? 3000 : undefined),
        })
        const other = (yield* ask("/v1/accounts", {
          method: "POST",
          body: { name: "beta", credits: 100 },
        })).body.data.account
        const { key } = yield* keys.issue({ account: other.id })
        yield* check(["a.com", "b.com", "c.com"])
        const second = AuthorityMetrics({ baseUrl: url, apiKey: Redacted.value(key) })
        yield* Effect.promise(() => second.check(["d.com"]))

        const { body, status } = yield* ask("/v1/overview")
        assert.strictEqual(status, 200)
        const { days, vendors, ...data } = body.data
        assert.deepStrictEqual(data, {
          currency: "USD",
          creditValue: 0.0125,
          sums: { creditsCharged: 4, cost: 0.08, answeredFromCache: 0 },
          runningOut: [{ account: "acme", available: 2, chargedLastWeek: 3 }],
          errors: [{ provider: "moz", ...error, at: "1970-01-01T00:00:00.000Z" }],
        })
        assert.lengthOf(days, 30)
        const none = { creditsCharged: 0, cost: 0, answeredFromCache: 0 }
        assert.deepStrictEqual(days.slice(-3), [
          { day: Usage.dateOf(today - 2), ...none },
          { day: Usage.dateOf(today - 1), ...none, cost: null },
          { day: Usage.dateOf(today), creditsCharged: 4, cost: 0.08, answeredFromCache: 0 },
        ])
        assert.containSubset(vendors, [
          { provider: "moz", circuit: "closed", quota: null, ceiling: 3000, error: null },
        ])
        assert.isAtLeast(vendors[0].month.rows, 8)
      }),
    )

    it.scopedLive("a text is refused with one issue, or it is kept as it is and verified", () =>
      Effect.gen(function* () {
        const { ask, problems } = yield* running()
        const post = (path: string, body: object) => ask(path, { method: "POST", body })
        const { id } = (yield* post("/v1/accounts/acme/keys", {})).body.data
        const inBody = (text: string) =>
          Effect.all({
            grant: post("/v1/accounts/acme/credits", { amount: 1, note: text }),
            correction: post("/v1/accounts/acme/credits", { amount: -1, note: `-${text}` }),
            key: post("/v1/accounts/acme/keys", { label: text }),
            changed: ask(`/v1/keys/${id}`, { method: "PATCH", body: { label: text } }),
          })
        // The audit log cuts the name after 200 code units.
        const inUrl = (text: string) => {
          const name = encodeURIComponent("-" + "🚀".repeat(100) + text)
          return Effect.all([
            ask(`/v1/accounts/${name}`),
            ask(`/v1/accounts/${name}`, { method: "PATCH", body: { suspended: true } }),
            post(`/v1/accounts/${name}/credits`, { amount: 1 }),
            ask(`/v1/accounts/${name}/statement`),
            post(`/v1/accounts/${name}/keys`, {}),
            ask(`/v1/usage?account=${name}`),
            ask(`/v1/keys/${name}`, { method: "DELETE" }),
            ask(`/v1/accounts?search=${name}`),
            ask(`/v1/keys?search=${name}`),
          ])
        }
        const property = (text: string) =>
          Effect.gen(function* () {
            const isKept = text.isWellFormed() && !text.includes("\0")
            const { changed, correction, grant, key } = yield* inBody(text)
            const found = text.isWellFormed() ? yield* inUrl(text) : []
            if (isKept) {
              const statement = yield* ask("/v1/accounts/acme/statement?limit=2")
              const notes = statement.body.data.entries.map(({ note }: { note: string }) => note)
              assert.deepStrictEqual(notes, [`-${text}`, text])
              assert.strictEqual(changed.body.data.key.label, text)
              assert.deepStrictEqual(
                [grant, correction, key].map(({ status }) => status),
                [200, 200, 201],
              )
              assert.deepStrictEqual(
                found.map(({ status }) => status),
                [404, 404, 404, 404, 404, 404, 404, 200, 200],
              )
            } else {
              for (const { body, status } of [changed, correction, grant, key, ...found]) {
                assert.deepStrictEqual([status, body.error?.issues.length], [400, 1])
              }
            }
            assert.deepStrictEqual(yield* problems, [])
          })
        const unit = fc.oneof(fc.integer({ max: 0xffff, min: 0 }), fc.integer({ max: 127, min: 0 }))
        const units = fc.array(unit, { maxLength: 100, minLength: 1 })
        const texts = fc.oneof(
          fc.string({ maxLength: 90, minLength: 1, unit: "binary" }),
          units.map((all) => String.fromCharCode(...all)),
        )
        yield* forAll(texts, { examples: ["🚀".slice(0, 1), "a\0", "🚀"], numRuns: 20 }, property)
      }),
    )

    it.scopedLive("an act on an account that does not exist is a line of the audit log", () =>
      Effect.gen(function* () {
        const { ask } = yield* running()
        const suspension = { suspended: true }
        yield* ask("/v1/accounts/nobody", { method: "PATCH", body: suspension })
        yield* ask("/v1/accounts/nobody/credits", { method: "POST", body: { amount: 5 } })
        yield* ask("/v1/accounts/nobody/keys", { method: "POST", body: {} })
        const { body } = yield* ask("/v1/audit?limit=3")
        const detail = { refused: body.data.entries[0].detail.refused }
        assert.include(detail.refused, 'no account has the name or id "nobody"')
        assert.containSubset(
          body.data.entries,
          ["key.create", "credits.grant", "account.suspend"].map((action) => ({
            action,
            subject: "nobody",
            detail,
          })),
        )
      }),
    )

    it.scopedLive(
      "an act is done once under an idempotency key, and a repeat shows no secret",
      () =>
        Effect.gen(function* () {
          const { ask } = yield* running({ credits: 10 })
          const post = (path: string, name: string, body: object) =>
            ask(path, { method: "POST", body, headers: { "idempotency-key": `"${name}"` } })
          const twice = (path: string, name: string, body: object) =>
            Effect.gen(function* () {
              const answers = [
                yield* post(path, name, body),
                yield* post(path, name, body),
              ] as const
              assert.deepStrictEqual(
                answers.map(({ headers, status }) => [status, headers.get("idempotent-replayed")]),
                [
                  [path.endsWith("/credits") ? 200 : 201, null],
                  [200, "true"],
                ],
              )
              return answers.map((answer) => answer.body.data)
            })
          const [made, again] = yield* twice("/v1/accounts", "a", { name: "beta", credits: 5 })
          assert.deepStrictEqual(again, made)
          yield* twice("/v1/accounts/beta/credits", "b", { amount: 7 })
          yield* twice("/v1/accounts/beta/credits", "c", { amount: -2, note: "two too many" })
          const { body } = yield* ask("/v1/accounts/beta")
          assert.deepInclude(body.data.account, { granted: 10, available: 10 })

          const [key, repeat] = yield* twice("/v1/accounts/acme/keys", "d", { budget: "5/day" })
          assert.deepStrictEqual(repeat, { ...key, key: null })
          const [next, once] = yield* twice(`/v1/keys/${key.id}/rotate`, "e", { grace: "1h" })
          assert.deepStrictEqual(once, { ...next, key: null })
          const { body: all } = yield* ask("/v1/accounts/acme/keys")
          assert.lengthOf(all.data.keys, 3)

          const other = yield* post("/v1/accounts/beta/credits", "b", { amount: 8 })
          assert.strictEqual(other.status, 422)
          const wrong = { "idempotency-key": 'a"b' }
          const invalid = yield* ask("/v1/accounts/beta/credits", {
            method: "POST",
            body: { amount: 8 },
            headers: wrong,
          })
          assert.strictEqual(invalid.status, 400)
        }),
    )

    it.scopedLive("a refused act is refused again under its idempotency key", () =>
      Effect.gen(function* () {
        const { ask, keyId } = yield* running({ credits: 10 })
        yield* ask(`/v1/keys/${keyId}`, { method: "DELETE" })
        for (const [path, body, status] of [
          ["/v1/accounts", { name: "acme" }, 409],
          ["/v1/accounts/acme/credits", { amount: -1000, note: "too many" }, 409],
          [`/v1/keys/${keyId}/rotate`, { grace: "1h" }, 404],
        ] as const) {
          const again = ask(path, {
            method: "POST",
            body,
            headers: { "idempotency-key": `"${path}"` },
          })
          for (const answer of [yield* again, yield* again]) {
            assert.strictEqual(answer.status, status, `${path}: ${JSON.stringify(answer.body)}`)
          }
        }
        // Nothing was done under the key, so it can be used for a request that succeeds.
        const done = yield* ask("/v1/accounts/acme/credits", {
          method: "POST",
          body: { amount: -10, note: "all" },
          headers: { "idempotency-key": '"/v1/accounts/acme/credits"' },
        })
        assert.strictEqual(done.status, 200)
      }),
    )

    it.scopedLive("concurrent requests with one idempotency key do one act", () =>
      Effect.gen(function* () {
        const { ask, keyId } = yield* running({ credits: 10 })
        const grant = ask("/v1/accounts/acme/credits", {
          method: "POST",
          body: { amount: 5 },
          headers: { "idempotency-key": '"one"' },
        })
        const answers = yield* Effect.all(
          Array.from({ length: 8 }, () => grant),
          {
            concurrency: "unbounded",
          },
        )
        assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
        const { body } = yield* ask("/v1/accounts/acme")
        assert.strictEqual(body.data.account.granted, 15)
        // Only the first one of these can succeed: the others wait for it, and would be refused.
        for (const [path, body, status] of [
          ["/v1/accounts/acme/credits", { amount: -15, note: "all" }, 200],
          ["/v1/accounts", { name: "beta" }, 201],
          [`/v1/keys/${keyId}/rotate`, { grace: "0s" }, 201],
        ] as const) {
          const act = ask(path, {
            method: "POST",
            body,
            headers: { "idempotency-key": `"${path}"` },
          })
          const all = yield* Effect.all(
            Array.from({ length: 8 }, () => act),
            { concurrency: "unbounded" },
          )
          const statuses = all.map((answer) => answer.status).sort((a, b) => b - a)
          assert.deepStrictEqual(statuses, [status, ...all.slice(1).map(() => 200)], path)
        }
        const other = (amount: number) =>
          ask("/v1/accounts/acme/credits", {
            method: "POST",
            body: { amount },
            headers: { "idempotency-key": '"other"' },
          })
        const different = yield* Effect.all([1, 2, 3, 4].map(other), { concurrency: "unbounded" })
        const statuses = different.map((answer) => answer.status).sort()
        assert.deepStrictEqual(statuses, [200, 422, 422, 422])
      }),
    )

    it.scopedLive("what an operator changes counts at once in the process that changes it", () =>
      Effect.gen(function* () {
        const { ask, creditsStatus, keyId } = yield* running()
        const patch = (path: string, body: object) => ask(path, { method: "PATCH", body })
        const statusAfter = (change: Effect.Effect<unknown>) =>
          Effect.zipRight(change, creditsStatus)
        assert.strictEqual(yield* creditsStatus, 200)
        for (const [path, body, status] of [
          ["/v1/accounts/acme", { suspended: true }, 403],
          ["/v1/accounts/acme", { suspended: false }, 200],
          [`/v1/keys/${keyId}`, { scopes: ["check"] }, 403],
          [`/v1/keys/${keyId}`, { scopes: ["check", "read"] }, 200],
        ] as const) {
          assert.strictEqual(yield* statusAfter(patch(path, body)), status, JSON.stringify(body))
        }
        assert.strictEqual(yield* statusAfter(ask(`/v1/keys/${keyId}`, { method: "DELETE" })), 401)
      }),
    )
  })
}

describe.runIf(hasPostgres)("the administration of two replicas on PostgreSQL", () => {
  const replicas = (credits = 1000) =>
    Effect.gen(function* () {
      const stores = Layer.orDie(postgresDatabase(yield* temporaryDatabase))
      return [yield* start({ stores, credits }), yield* start({ stores, credits: 0 })] as const
    })

  it.scopedLive("concurrent requests to both with one idempotency key do one act", () =>
    Effect.gen(function* () {
      const both = yield* replicas(10)
      const post = (path: string, body: object) =>
        Effect.forEach(
          Array.from({ length: 8 }, (_, i) => both[i % 2 === 0 ? 0 : 1]),
          ({ ask }) =>
            ask(path, { method: "POST", body, headers: { "idempotency-key": `"${path}"` } }),
          { concurrency: "unbounded" },
        )
      const granted = yield* post("/v1/accounts/acme/credits", { amount: 5 })
      assert.deepStrictEqual([...new Set(granted.map(({ status }) => status))], [200])
      const created = yield* post("/v1/accounts/acme/keys", { label: "once" })
      assert.lengthOf(new Set(created.map(({ body }) => body.data.id)), 1)
      assert.lengthOf(
        created.filter(({ body }) => body.data.key !== null),
        1,
      )
      const { body } = yield* both[1].ask("/v1/accounts/acme")
      assert.strictEqual(body.data.account.granted, 15)
      assert.deepStrictEqual(yield* both[0].problems, [])
    }),
  )

  it.scopedLive("concurrent corrections at both never take more than was granted", () =>
    Effect.gen(function* () {
      const both = yield* replicas(10)
      const answers = yield* Effect.forEach(
        Array.from({ length: 12 }, (_, i) => both[i % 2 === 0 ? 0 : 1]),
        ({ ask }, i) =>
          ask("/v1/accounts/acme/credits", {
            method: "POST",
            body: { amount: -3, note: `correction ${i}` },
          }),
        { concurrency: "unbounded" },
      )
      const statuses = answers.map(({ status }) => status).sort()
      assert.deepStrictEqual(statuses, [200, 200, 200, ...Array.from({ length: 9 }, () => 409)])
      for (const { ask } of both) {
        const { body } = yield* ask("/v1/accounts/acme")
        assert.deepInclude(body.data.account, { granted: 1, available: 1, charged: 0 })
      }
      // Each refused correction is a line too.
      const { body } = yield* both[1].ask("/v1/audit?limit=12")
      const actions = body.data.entries.map(({ action }: { readonly action: string }) => action)
      assert.deepStrictEqual([...new Set(actions)], ["credits.correct"])
      assert.deepStrictEqual(yield* both[0].problems, [])
    }),
  )

  it.scopedLive("a budget that changes during a rotation has a line for both keys", () =>
    Effect.gen(function* () {
      const [one, other] = yield* replicas()
      for (const budget of ["6/day", null, "6/month", null]) {
        const made = yield* one.ask("/v1/accounts/acme/keys", {
          method: "POST",
          body: { budget: "5/day" },
        })
        const path = `/v1/keys/${made.body.data.id}`
        yield* Effect.all(
          [
            one.ask(`${path}/rotate`, { method: "POST", body: { grace: "1h" } }),
            ...[1, 2, 3].map(() => other.ask(path, { method: "PATCH", body: { budget } })),
          ],
          { concurrency: "unbounded" },
        )
      }
      assert.deepStrictEqual(yield* one.problems, [])
    }),
  )

  it.scopedLive("a budget that one replica changes counts at once at the other", () =>
    Effect.gen(function* () {
      const [one, other] = yield* replicas()
      const made = yield* one.ask("/v1/accounts/acme/keys", {
        method: "POST",
        body: { budget: "1/day" },
      })
      const { id, key } = made.body.data
      const status = Effect.map(
        other.send(TestServer.batch(key, JSON.stringify({ urls: ["a.com", "b.com"] }))),
        ({ status }) => status,
      )
      assert.strictEqual(yield* status, 402)
      yield* one.ask(`/v1/keys/${id}`, { method: "PATCH", body: { budget: "2/day" } })
      assert.strictEqual(yield* status, 200)
      assert.strictEqual(yield* status, 402)
      const { body } = yield* one.ask("/v1/usage?by=key&account=acme")
      assert.containSubset(body.data.rows, [{ key: { id }, checks: 2, credits: 2 }])
    }),
  )

  it.scopedLive("what one replica changes counts within five seconds at the other", () =>
    Effect.gen(function* () {
      const [one, other] = yield* replicas()
      assert.strictEqual(yield* other.creditsStatus, 200)
      const patch = one.ask("/v1/accounts/acme", { method: "PATCH", body: { suspended: true } })
      assert.strictEqual((yield* patch).status, 200)
      const isSuspended = Effect.map(other.creditsStatus, (status) => status === 403)
      const [waited] = yield* Effect.timed(eventually("suspended at the other", isSuspended))
      assert.isBelow(Duration.toMillis(waited), 5000)
    }),
  )
})
