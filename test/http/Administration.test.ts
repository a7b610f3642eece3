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
import {
  type Circuit,
  MetricsProvider,
  ProviderError,
} from "../../src/providers/MetricsProvider.ts"
import { Costs, nothing } from "../../src/providers/costs/Costs.ts"
import * as SqlCosts from "../../src/providers/costs/SqlCosts.ts"
import * as Sandbox from "../../src/providers/vendors/Sandbox.ts"
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
        const { status } = response
        return { status, headers: response.headers, body: JSON.parse(await response.text()) }
      })
    return {
      ...service,
      ask,
      read: (path: string) => Effect.map(ask(path), ({ body }) => body.data),
      post: (path: string, body: object, idempotencyKey?: string) =>
        ask(path, {
          method: "POST",
          body,
          ...(idempotencyKey !== undefined && {
            headers: { "idempotency-key": `"${idempotencyKey}"` },
          }),
        }),
      patch: (path: string, body: object) => ask(path, { method: "PATCH", body }),
      remove: (path: string) => ask(path, { method: "DELETE" }),
      /** Sends a batch with any key, and returns the status. */
      statusOf: (key: string, ...urls: ReadonlyArray<string>) =>
        Effect.map(
          service.send(TestServer.batch(key, JSON.stringify({ urls }))),
          ({ status }) => status,
        ),
      /** The status of a request that a key with only the scope `read` may send. */
      creditsStatus: Effect.map(service.credits, ({ status }) => status),
      /** The problems that `credits verify` finds. */
      problems: Effect.map(service.ledger.verify, ({ problems }) => problems),
    }
  })

/** Runs an effect eight times at once. */
const eightTimes = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.all(
    Array.from({ length: 8 }, () => effect),
    { concurrency: "unbounded" },
  )

const statusesOf = (answers: ReadonlyArray<{ readonly status: number }>) =>
  answers.map(({ status }) => status)

/** A provider that gives the sandbox's figures and reports these circuits. */
const withCircuits = (...circuits: ReadonlyArray<Circuit>) =>
  Layer.map(Sandbox.layer, (context) =>
    Context.add(context, MetricsProvider, {
      ...Context.get(context, MetricsProvider),
      circuits: Effect.succeed(circuits),
    }),
  )

describe("the administration API", () => {
  it.scopedLive("without AUTHORITY_ADMIN_TOKEN, the paths of the administration API are 404", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer.start()
      const answer = yield* Effect.promise(() => fetch(`${url}/admin/v1/accounts`))
      assert.strictEqual(answer.status, 404)
    }),
  )

  it.scopedLive(
    "a wrong admin token gets 401 whatever the body, and 429 after ten; the right one still passes",
    () =>
      Effect.gen(function* () {
        const { ask } = yield* start()
        const wrong = { method: "POST", token: "x", body: "{" }
        for (let i = 0; i < 10; i++) {
          const { body, status } = yield* ask("/v1/accounts", wrong)
          assert.deepStrictEqual([status, ...Object.keys(body)], [401, "success", "message"])
        }
        const tooMany = yield* ask("/v1/accounts/acme", { token: "x" })
        assert.strictEqual(tooMany.status, 429)
        assert.isAbove(Number(tooMany.headers.get("retry-after")), 0)
        assert.strictEqual((yield* ask("/v1/accounts/acme")).status, 200)
      }),
  )

  it.scopedLive(
    "a 400 of the administration API lists every violation, including misspelled fields",
    () =>
      Effect.gen(function* () {
        const { ask } = yield* start()
        const post = (body: object | string, headers = {}) =>
          ask("/v1/accounts", { method: "POST", body, headers })
        const { body, status } = yield* post({ name: "?", credits: -1, credit: 5 })
        assert.strictEqual(status, 400)
        const paths = body.error.issues.map(({ path }: { path: unknown }) => path).sort()
        assert.deepStrictEqual(paths, [["credit"], ["credits"], ["name"]])
        assert.strictEqual((yield* post("{")).body.error.issues[0].code, "invalid_json")
        const text = yield* post("{}", { "content-type": "text/plain" })
        assert.strictEqual(text.body.error.issues[0].code, "invalid_content_type")
        assert.strictEqual((yield* post("x".repeat(600_000))).status, 413)
      }),
  )

  it.scopedLive("a wrong field or parameter is reported as one issue", () =>
    Effect.gen(function* () {
      const { ask, keyId } = yield* start()
      const long = "x".repeat(201)
      const keys = "POST /v1/accounts/acme/keys"
      const key = `PATCH /v1/keys/${keyId}`
      const credits = "POST /v1/accounts/acme/credits"
      for (const [line, body, path, message] of [
        [keys, { scopes: ["write"] }, ["scopes", "0"], /^Expected check or read$/],
        [keys, { expiresIn: "0s" }, ["expiresIn"], /longer than 0$/],
        [key, { scopes: ["write"] }, ["scopes", "0"], /^Expected check or read$/],
        [key, { budget: "none" }, ["budget"], /^expected a budget such as/],
        [key, { budget: "9/year" }, ["budget"], /^expected a budget such as/],
        [key, { label: long }, ["label"], /at most 200 character/],
        [key, {}, [], /^Expected a label, a budget or scopes$/],
        [credits, { amount: -1 }, ["note"], /needs a note/],
        [credits, { amount: 1, note: long }, ["note"], /at most 200 character/],
        [credits, { amount: 0 }, ["amount"], /other than 0/],
        [credits, { amount: 1.5 }, ["amount"], /^Expected integer, received number$/],
        [credits, {}, ["amount"], /^Required$/],
        [credits, { amount: 1, nte: "a note" }, ["nte"], /^Unknown field$/],
        ["GET /v1/accounts/acme/keys?limit=1001", undefined, ["limit"], /1000/],
        // If a name were accepted here, a script that passes one would get the first page for ever.
        ["GET /v1/accounts?before=gamma", undefined, ["before"], /^Expected the id/],
        ["GET /v1/usage?by=year", undefined, ["by"], /^Expected day, key or account$/],
      ] as const) {
        const [method = "", target = ""] = line.split(" ")
        const answer = yield* ask(target, { method, ...(body !== undefined && { body }) })
        assert.strictEqual(answer.status, 400, line)
        const { issues } = answer.body.error
        assert.deepStrictEqual([issues.length, issues[0].path], [1, path])
        assert.match(issues[0].message, message)
      }
    }),
  )

  it.scopedLive(
    "the administration API answers 404 and 405, and refuses pages of other origins",
    () =>
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

  it.scopedLive("the provider status combines what this process and the vendor know", () =>
    Effect.gen(function* () {
      const quota = { unit: "rows", allotted: 3000, left: 12, resetsAt: 86_400_000 }
      const error = { at: 0, reason: "Throttled" as const, message: "moz throttles" }
      const exhausted = {
        provider: "moz",
        openReason: "its quota is used up",
        isExhausted: true,
        isPaused: false,
        calls: { inFlight: 2, limit: 8, latencyMs: 120.5, errors: [error] },
        status: Effect.succeed({ quota, index: "2026-11-01" }),
      }
      const refused = {
        provider: "dataforseo",
        reason: "Refused",
        detail: "wrong password",
      } as const
      const paused = {
        provider: "dataforseo",
        openReason: undefined,
        isExhausted: false,
        isPaused: true,
        calls: { inFlight: 0, limit: 8, latencyMs: null, errors: [] },
        status: new ProviderError(refused),
      }
      const { ask } = yield* start({ provider: withCircuits(exhausted, paused) })
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
    "the provider report tells what calls cost and what was sold, and asks the vendors on demand",
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

  it.scopedLive("the OpenAPI document of the administration needs the token", () =>
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

  describe(`the administration API on ${store}`, () => {
    it.scopedLive("an account is created once, and can be read by its name or id", () =>
      Effect.gen(function* () {
        const { ask, post, read } = yield* running()
        const made = yield* post("/v1/accounts", { name: "büro+1", credits: 7 })
        assert.strictEqual(made.status, 201)
        const { id } = made.body.data.account
        assert.deepStrictEqual(made.body.data, { account: { id, name: "büro+1" }, credits: 7 })
        const { account } = yield* read(`/v1/accounts/${encodeURIComponent("büro+1")}`)
        assert.deepInclude(account, { id, available: 7, held: 0, granted: 7, charged: 0 })
        assert.deepStrictEqual(yield* read(`/v1/accounts/${id}`), { account })
        assert.strictEqual((yield* post("/v1/accounts", { name: "büro+1" })).status, 409)
        assert.strictEqual((yield* ask("/v1/accounts/nobody")).status, 404)
      }),
    )

    it.scopedLive("accounts are searched page by page", () =>
      Effect.gen(function* () {
        const { key, post, read } = yield* running()
        for (const name of ["beta", "gamma", "delta"]) yield* post("/v1/accounts", { name })
        const found = (query: string) =>
          Effect.map(
            read(`/v1/accounts?${query}`),
            ({ accounts }): ReadonlyArray<{ readonly id: string; readonly name: string }> =>
              accounts,
          )
        const names = (query: string) =>
          Effect.map(found(query), (rows) => rows.map(({ name }) => name))
        const last = (yield* found("limit=2"))[1]?.id
        assert.deepStrictEqual(yield* names("limit=2"), ["delta", "gamma"])
        assert.deepStrictEqual(yield* names(`limit=2&before=${last}`), ["beta", "acme"])
        assert.deepStrictEqual(yield* names("search=MM"), ["gamma"])
        assert.deepStrictEqual(yield* names(`search=${key.slice(0, 8)}`), ["acme"])
      }),
    )

    it.scopedLive("credits are granted and corrected, but never below what is used", () =>
      Effect.gen(function* () {
        const { post, problems, read } = yield* running({ credits: 10 })
        const change = (amount: number, note?: string) =>
          post("/v1/accounts/acme/credits", { amount, ...(note !== undefined && { note }) })
        const granted = yield* change(10_000, "typed a zero too many")
        assert.deepInclude(granted.body.data, { account: "acme", available: 10_010 })
        const corrected = yield* change(-9000, "invoice 7 is 1,000")
        assert.deepInclude(corrected.body.data, { available: 1010, granted: 1010, charged: 0 })
        assert.strictEqual((yield* change(-1011, "too much")).status, 409)
        const correction = { amount: -9000, balanceAfter: 1010, note: "invoice 7 is 1,000" }
        assert.containSubset(yield* read("/v1/accounts/acme/statement?limit=2"), {
          account: "acme",
          entries: [
            { sequence: 3, kind: "correction", ...correction },
            { sequence: 2, kind: "grant", amount: 10_000, balanceAfter: 10_010 },
          ],
        })
        assert.lengthOf((yield* read("/v1/accounts/acme/statement?before=2")).entries, 1)

        assert.strictEqual((yield* change(Number.MAX_SAFE_INTEGER - 1011)).status, 200)
        const { body, status } = yield* change(2)
        const message = "the account can get at most 1 credit more"
        assert.deepStrictEqual([status, body.message], [409, message])
        const line = { action: "credits.grant", subject: "acme", detail: { refused: message } }
        assert.deepInclude((yield* read("/v1/audit?limit=1")).entries[0], line)
        assert.strictEqual((yield* change(1)).status, 200)
        assert.deepStrictEqual(yield* problems, [])
      }),
    )

    it.scopedLive("a key is created, found, changed, rotated and revoked", () =>
      Effect.gen(function* () {
        const { ask, patch, post, read, remove, statusOf } = yield* running()
        const terms = { label: "rank tracker", expiresIn: "90d", budget: "2/day" }
        const made = yield* post("/v1/accounts/acme/keys", { ...terms, scopes: ["check"] })
        assert.strictEqual(made.status, 201)
        const { id, key } = made.body.data
        assert.deepInclude(made.body.data, { account: "acme", scopes: ["check"], budget: "2/day" })
        assert.strictEqual(yield* statusOf(key, "a.com"), 200)
        assert.strictEqual(yield* statusOf(key, "a.com", "b.com"), 402)

        const [found] = (yield* read("/v1/keys?search=RANK")).keys
        assert.containSubset(found, {
          id,
          account: "acme",
          start: key.slice(0, 9),
          label: "rank tracker",
          state: "active",
          budget: { credits: 2, period: "day", used: 1, remaining: 1 },
        })
        const { keys } = yield* read("/v1/accounts/acme/keys")
        assert.deepStrictEqual(keys[0], found)
        yield* post("/v1/accounts", { name: "beta" })
        yield* post("/v1/accounts/beta/keys", {})
        const page = (query: string) => read(`/v1/accounts/acme/keys?${query}`)
        assert.deepStrictEqual((yield* page("limit=1")).keys, [keys[0]])
        assert.deepStrictEqual((yield* page(`limit=1&before=${id}`)).keys, [keys[1]])

        const change = (body: object) =>
          Effect.map(patch(`/v1/keys/${id}`, body), (answer) => answer.body.data.key)
        const scopes = ["read", "check", "read"]
        assert.containSubset(yield* change({ label: null, budget: "9/total", scopes }), {
          label: null,
          budget: { credits: 9, period: "total", used: 0, resetsAt: null },
          scopes: ["check", "read"],
        })
        assert.isNull((yield* change({ label: "" })).label)
        assert.isNull((yield* change({ budget: null })).budget)
        const before = yield* read("/v1/audit")
        assert.strictEqual((yield* patch(`/v1/keys/${id}`, {})).status, 400)
        assert.deepStrictEqual(yield* read("/v1/audit"), before)

        const rotated = yield* post(`/v1/keys/${id}/rotate`, { grace: "1h" })
        assert.strictEqual(rotated.status, 201)
        const successor = rotated.body.data
        assert.strictEqual(yield* statusOf(successor.key, "a.com"), 200)
        const revoked = yield* remove(`/v1/keys/${successor.id}`)
        assert.strictEqual(revoked.body.data.id, successor.id)
        assert.strictEqual(yield* statusOf(successor.key, "a.com"), 401)
        const again = yield* ask(`/v1/keys/${successor.id}/rotate`, { method: "POST" })
        assert.deepStrictEqual([again.status, (yield* remove("/v1/keys/none")).status], [404, 404])
      }),
    )

    it.scopedLive("usage is reported by account, key and day", () =>
      Effect.gen(function* () {
        const { ask, check, keyId, read } = yield* running()
        yield* check(["a.com", "localhost"])
        const used = { checks: 1, credits: 1, failed: { INVALID_URL: 1 } }
        const day = new Date().toISOString().slice(0, 10)
        for (const [query, row] of [
          ["by=account", { account: "acme" }],
          ["by=key&account=acme", { key: { id: keyId } }],
          [`since=${day}`, { day }],
        ] as const) {
          assert.containSubset((yield* read(`/v1/usage?${query}`)).rows, [{ ...row, ...used }])
        }
        assert.deepStrictEqual((yield* read("/v1/usage?until=2026-01-01")).rows, [])
        assert.strictEqual((yield* ask("/v1/usage?account=nobody")).status, 404)
      }),
    )

    it.scopedLive("every change, even a refused one, adds a line to the audit log", () =>
      Effect.gen(function* () {
        const { patch, post, read, remove } = yield* running()
        yield* post("/v1/accounts", { name: "beta", credits: 5 })
        yield* post("/v1/accounts/beta/credits", { amount: -6, note: "never given" })
        yield* remove("/v1/keys/none")
        yield* patch("/v1/accounts/nobody", { suspended: true })
        yield* post("/v1/accounts/nobody/credits", { amount: 5 })
        yield* post("/v1/accounts/nobody/keys", {})
        const { entries } = yield* read("/v1/audit?limit=7")
        const detail = { refused: entries[0].detail.refused }
        assert.include(detail.refused, 'no account has the name or id "nobody"')
        assert.include(entries[4].detail.refused, "only 5 credits can be taken away")
        const actor = "admin@127.0.0.1"
        assert.containSubset(entries, [
          { action: "key.create", subject: "nobody", actor, detail },
          { action: "credits.grant", subject: "nobody", actor, detail },
          { action: "account.suspend", subject: "nobody", actor, detail },
          { action: "key.revoke", subject: "none", actor },
          { action: "credits.correct", subject: "beta", actor },
          { action: "credits.grant", actor },
          { action: "account.create", subject: "beta", actor },
        ])
        const older = yield* read(`/v1/audit?limit=1&before=${entries[6].sequence}`)
        assert.strictEqual(older.entries[0].actor, "serve")
        const query = `subject=beta&actor=${actor}&action=account.create`
        assert.deepStrictEqual((yield* read(`/v1/audit?${query}`)).entries, [entries[6]])
      }),
    )

    it.scopedLive(
      "the overview shows 30 days of sales, customers that are running out of credits, and vendors",
      () =>
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
          const circuit = {
            provider: "moz",
            openReason: undefined,
            isExhausted: false,
            isPaused: false,
            calls: { inFlight: 0, limit: 8, latencyMs: null, errors: [error] },
            status: Effect.succeed({}),
          }
          const { check, keys, post, read, statusOf } = yield* running({
            costs,
            provider: withCircuits(circuit),
            credits: 5,
            creditValue: 12_500,
            ceilingOf: (vendor) => (vendor === "moz" ? 3000 : undefined),
          })
          const other = yield* post("/v1/accounts", { name: "beta", credits: 100 })
          const { key } = yield* keys.issue({ account: other.body.data.account.id })
          yield* check(["a.com", "b.com", "c.com"])
          yield* statusOf(Redacted.value(key), "d.com")

          const { days, vendors, ...data } = yield* read("/v1/overview")
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

    it.scopedLive("a text is either refused with one issue or stored unchanged", () =>
      Effect.gen(function* () {
        const { ask, keyId, patch, post, problems, read, remove } = yield* running()
        const inBody = (text: string) =>
          Effect.all([
            post("/v1/accounts/acme/credits", { amount: 1, note: text }),
            post("/v1/accounts/acme/credits", { amount: -1, note: `-${text}` }),
            post("/v1/accounts/acme/keys", { label: text }),
            patch(`/v1/keys/${keyId}`, { label: text }),
          ])
        // The audit log cuts names after 200 code units.
        const inUrl = (text: string) => {
          const name = encodeURIComponent("-" + "🚀".repeat(100) + text)
          return Effect.all([
            ask(`/v1/accounts/${name}`),
            patch(`/v1/accounts/${name}`, { suspended: true }),
            post(`/v1/accounts/${name}/credits`, { amount: 1 }),
            ask(`/v1/accounts/${name}/statement`),
            post(`/v1/accounts/${name}/keys`, {}),
            ask(`/v1/usage?account=${name}`),
            remove(`/v1/keys/${name}`),
            ask(`/v1/accounts?search=${name}`),
            ask(`/v1/keys?search=${name}`),
          ])
        }
        const property = (text: string) =>
          Effect.gen(function* () {
            const stored = yield* inBody(text)
            const found = text.isWellFormed() ? yield* inUrl(text) : []
            if (text.isWellFormed() && !text.includes("\0")) {
              const { entries } = yield* read("/v1/accounts/acme/statement?limit=2")
              const notes = entries.map(({ note }: { note: string }) => note)
              assert.deepStrictEqual(notes, [`-${text}`, text])
              assert.strictEqual(stored[3].body.data.key.label, text)
              assert.deepStrictEqual(statusesOf(stored), [200, 200, 201, 200])
              const unknown = Array(7).fill(404)
              assert.deepStrictEqual(statusesOf(found), [...unknown, 200, 200])
            } else {
              for (const { body, status } of [...stored, ...found]) {
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

    it.scopedLive(
      "an act is done once per idempotency key, and its repeated answer shows no secret",
      () =>
        Effect.gen(function* () {
          const { post, read } = yield* running({ credits: 10 })
          const twice = (path: string, name: string, body: object) =>
            Effect.gen(function* () {
              const answers = [
                yield* post(path, body, name),
                yield* post(path, body, name),
              ] as const
              const [first, second] = answers.map(({ headers, status }) => [
                status,
                headers.get("idempotent-replayed"),
              ])
              assert.deepStrictEqual(first, [path.endsWith("/credits") ? 200 : 201, null])
              assert.deepStrictEqual(second, [200, "true"])
              return answers.map((answer) => answer.body.data)
            })
          const [made, again] = yield* twice("/v1/accounts", "a", { name: "beta", credits: 5 })
          assert.deepStrictEqual(again, made)
          yield* twice("/v1/accounts/beta/credits", "b", { amount: 7 })
          yield* twice("/v1/accounts/beta/credits", "c", { amount: -2, note: "two too many" })
          const { account } = yield* read("/v1/accounts/beta")
          assert.deepInclude(account, { granted: 10, available: 10 })

          const [key, repeat] = yield* twice("/v1/accounts/acme/keys", "d", { budget: "5/day" })
          assert.deepStrictEqual(repeat, { ...key, key: null })
          const [next, once] = yield* twice(`/v1/keys/${key.id}/rotate`, "e", { grace: "1h" })
          assert.deepStrictEqual(once, { ...next, key: null })
          assert.lengthOf((yield* read("/v1/accounts/acme/keys")).keys, 3)

          const other = yield* post("/v1/accounts/beta/credits", { amount: 8 }, "b")
          const invalid = yield* post("/v1/accounts/beta/credits", { amount: 8 }, 'a"b')
          assert.deepStrictEqual([other.status, invalid.status], [422, 400])
        }),
    )

    it.scopedLive("a refused act is refused again under its idempotency key", () =>
      Effect.gen(function* () {
        const { keyId, post, remove } = yield* running({ credits: 10 })
        yield* remove(`/v1/keys/${keyId}`)
        for (const [path, body, status] of [
          ["/v1/accounts", { name: "acme" }, 409],
          ["/v1/accounts/acme/credits", { amount: -1000, note: "too many" }, 409],
          [`/v1/keys/${keyId}/rotate`, { grace: "1h" }, 404],
        ] as const) {
          const answers = [yield* post(path, body, path), yield* post(path, body, path)]
          assert.deepStrictEqual(statusesOf(answers), [status, status], path)
        }
        // The refused act left the key unused, so a request that succeeds can use it.
        const path = "/v1/accounts/acme/credits"
        assert.strictEqual((yield* post(path, { amount: -10, note: "all" }, path)).status, 200)
      }),
    )

    it.scopedLive("concurrent administration requests with one idempotency key do one act", () =>
      Effect.gen(function* () {
        const { keyId, post, read } = yield* running({ credits: 10 })
        const credits = "/v1/accounts/acme/credits"
        const grants = yield* eightTimes(post(credits, { amount: 5 }, "one"))
        assert.deepStrictEqual(new Set(statusesOf(grants)), new Set([200]))
        assert.strictEqual((yield* read("/v1/accounts/acme")).account.granted, 15)
        // Only the first of these requests can succeed: the others wait for it and are then
        // refused.
        for (const [path, body, status] of [
          [credits, { amount: -15, note: "all" }, 200],
          ["/v1/accounts", { name: "beta" }, 201],
          [`/v1/keys/${keyId}/rotate`, { grace: "0s" }, 201],
        ] as const) {
          const statuses = statusesOf(yield* eightTimes(post(path, body, path)))
          assert.deepStrictEqual(statuses.sort().reverse(), [status, ...Array(7).fill(200)], path)
        }
        const different = yield* Effect.all(
          [1, 2, 3, 4].map((amount) => post(credits, { amount }, "other")),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(statusesOf(different).sort(), [200, 422, 422, 422])
      }),
    )

    it.scopedLive("an operator's change takes effect at once in the process that makes it", () =>
      Effect.gen(function* () {
        const { creditsStatus, keyId, patch, remove } = yield* running()
        assert.strictEqual(yield* creditsStatus, 200)
        for (const [path, body, status] of [
          ["/v1/accounts/acme", { suspended: true }, 403],
          ["/v1/accounts/acme", { suspended: false }, 200],
          [`/v1/keys/${keyId}`, { scopes: ["check"] }, 403],
          [`/v1/keys/${keyId}`, { scopes: ["check", "read"] }, 200],
        ] as const) {
          const { data } = (yield* patch(path, body)).body
          assert.containSubset(data.account ?? data.key, body)
          assert.strictEqual(yield* creditsStatus, status, JSON.stringify(body))
        }
        yield* remove(`/v1/keys/${keyId}`)
        assert.strictEqual(yield* creditsStatus, 401)
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
  type Replica = Effect.Effect.Success<ReturnType<typeof start>>

  /** Makes twelve requests at once, and sends them to the replicas in turn. */
  const twelve = <A, E>(
    both: readonly [Replica, Replica],
    request: (replica: Replica, i: number) => Effect.Effect<A, E>,
  ) =>
    Effect.all(
      Array.from({ length: 12 }, (_, i) => request(both[i % 2 === 0 ? 0 : 1], i)),
      { concurrency: "unbounded" },
    )

  it.scopedLive("concurrent requests to two replicas with one idempotency key do one act", () =>
    Effect.gen(function* () {
      const both = yield* replicas(10)
      const granted = yield* twelve(both, ({ post }) =>
        post("/v1/accounts/acme/credits", { amount: 5 }, "grant"),
      )
      assert.deepStrictEqual(new Set(statusesOf(granted)), new Set([200]))
      const created = yield* twelve(both, ({ post }) =>
        post("/v1/accounts/acme/keys", { label: "once" }, "key"),
      )
      const keys = created.map(({ body }) => body.data)
      assert.lengthOf(new Set(keys.map(({ id }) => id)), 1)
      assert.lengthOf(
        keys.filter(({ key }) => key !== null),
        1,
      )
      assert.strictEqual((yield* both[1].read("/v1/accounts/acme")).account.granted, 15)
      assert.deepStrictEqual(yield* both[0].problems, [])
    }),
  )

  it.scopedLive("concurrent corrections at two replicas never take more than was granted", () =>
    Effect.gen(function* () {
      const both = yield* replicas(10)
      const answers = yield* twelve(both, ({ post }, i) =>
        post("/v1/accounts/acme/credits", { amount: -3, note: `correction ${i}` }),
      )
      const refused = Array(9).fill(409)
      assert.deepStrictEqual(statusesOf(answers).sort(), [200, 200, 200, ...refused])
      for (const { read } of both) {
        const { account } = yield* read("/v1/accounts/acme")
        assert.deepInclude(account, { granted: 1, available: 1, charged: 0 })
      }
      // Each refused correction has a line in the audit log too.
      const { entries } = yield* both[1].read("/v1/audit?limit=12")
      for (const { action } of entries) assert.strictEqual(action, "credits.correct")
      assert.deepStrictEqual(yield* both[0].problems, [])
    }),
  )

  it.scopedLive("changing a budget during a key's rotation adds an audit line for both keys", () =>
    Effect.gen(function* () {
      const [one, other] = yield* replicas()
      for (const budget of ["6/day", null, "6/month", null]) {
        const made = yield* one.post("/v1/accounts/acme/keys", { budget: "5/day" })
        const path = `/v1/keys/${made.body.data.id}`
        const changes = [1, 2, 3].map(() => other.patch(path, { budget }))
        yield* Effect.all([one.post(`${path}/rotate`, { grace: "1h" }), ...changes], {
          concurrency: "unbounded",
        })
      }
      assert.deepStrictEqual(yield* one.problems, [])
    }),
  )

  it.scopedLive("a budget that one replica changes takes effect at once at the other", () =>
    Effect.gen(function* () {
      const [one, other] = yield* replicas()
      const made = yield* one.post("/v1/accounts/acme/keys", { budget: "1/day" })
      const { id, key } = made.body.data
      const status = other.statusOf(key, "a.com", "b.com")
      assert.strictEqual(yield* status, 402)
      yield* one.patch(`/v1/keys/${id}`, { budget: "2/day" })
      assert.strictEqual(yield* status, 200)
      assert.strictEqual(yield* status, 402)
      const { rows } = yield* one.read("/v1/usage?by=key&account=acme")
      assert.containSubset(rows, [{ key: { id }, checks: 2, credits: 2 }])
    }),
  )

  it.scopedLive("a change at one replica takes effect at the other within five seconds", () =>
    Effect.gen(function* () {
      const [one, other] = yield* replicas()
      assert.strictEqual(yield* other.creditsStatus, 200)
      yield* one.patch("/v1/accounts/acme", { suspended: true })
      const isSuspended = Effect.map(other.creditsStatus, (status) => status === 403)
      const [waited] = yield* Effect.timed(eventually("suspended at the other", isSuspended))
      assert.isBelow(Duration.toMillis(waited), 5000)
    }),
  )
})
