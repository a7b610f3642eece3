/** Tests the lists that a client may ask for: the history of a URL, its usage and its statement. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Observation, StatementEntry } from "../../src/client/PromiseClient.ts"
import { providerFailed } from "../../src/check/Metrics.ts"
import { adminPaths, historyPath, statementPath, usagePath } from "../../src/contract/Wire.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { type Figures, MetricsCache } from "../../src/providers/figures/MetricsCache.ts"
import * as memory from "../support/memory.ts"
import { checked, make } from "../support/ScriptedProvider.ts"
import { stores } from "../support/Stores.ts"
import { batch, start } from "../support/TestServer.ts"

const adminToken = "a-token-for-the-tests-of-32-chars"

/** Starts a server whose store contains these figures, stored one after the other. */
const running = (...all: ReadonlyArray<Figures>) =>
  start({
    figures: Layer.effect(
      MetricsCache,
      Effect.tap(MetricsCache, (cache) => Effect.forEach(all, (one) => cache.put([one]))),
    ).pipe(Layer.provide(memory.metricsCache)),
    adminToken,
  })

const days = (n: number) => Date.now() - n * 86_400_000
const iso = (ms: number) => new Date(ms).toISOString()

const times = { old: days(740), first: days(50), last: days(20), latest: days(2), fresh: days(0.5) }

const bought = (fetchedAt: number, more: Partial<Figures> = {}): Figures => ({
  provider: "moz",
  page: "example.com/",
  metrics: { domainAuthority: 40, pageAuthority: 30.5, spamScore: 1 },
  fetchedAt,
  index: undefined,
  of: undefined,
  ...more,
})

const all = [
  bought(times.old, { provider: "dataset" }),
  bought(times.first),
  bought(times.last),
  bought(times.latest, {
    metrics: { domainAuthority: 41, pageAuthority: 30.5 },
    index: "2026-11-01",
  }),
  bought(times.fresh, { provider: "dataforseo" }),
]

const observations = [
  {
    fetchedAt: iso(times.latest),
    lastFetchedAt: iso(times.latest),
    provider: "moz",
    index: "2026-11-01",
    domainAuthority: 41,
    pageAuthority: 30.5,
  },
  {
    fetchedAt: iso(times.first),
    lastFetchedAt: iso(times.last),
    provider: "moz",
    index: null,
    domainAuthority: 40,
    pageAuthority: 30.5,
    spamScore: 1,
  },
]

const url = "HTTPS://Example.com/#top"
const data = { url, target: "example.com/", observations }

describe("the history of a URL", () => {
  it.scopedLive(
    "the history of a target lists the newest figures first, from a cache lifetime ago",
    () =>
      Effect.gen(function* () {
        const { books, get } = yield* running(...all)
        const query = `?url=${encodeURIComponent(url)}`
        assert.deepStrictEqual(yield* get(historyPath + query), {
          status: 200,
          body: { success: true, data },
        })
        const { body } = yield* get(`${historyPath}${query}&limit=1`)
        assert.deepStrictEqual(body.data.observations, observations.slice(0, 1))
        const { body: none } = yield* get(`${historyPath}?url=example.org`)
        assert.deepStrictEqual(none.data.observations, [])
        assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
      }),
  )

  it.scopedLive(
    "a client sees only history older than a cache lifetime, an operator sees all of it",
    () =>
      Effect.gen(function* () {
        const { key, send } = yield* running(
          bought(days(3)),
          bought(days(2.5), { provider: "dataset" }),
          bought(days(0.1)),
          bought(days(0.1), { provider: "dataset", index: "2026-12-01" }),
          bought(days(0.1), { provider: "dataforseo" }),
        )
        const tenths = (time: string) => Math.round((Date.now() - Date.parse(time)) / 8_640_000)
        const seen = (path: string, headers: Readonly<Record<string, string>>) =>
          Effect.map(send({ path: `${path}?url=example.com`, headers }), ({ text }) =>
            JSON.parse(text).data.observations.map((one: Observation) =>
              [one.provider, tenths(one.fetchedAt), tenths(one.lastFetchedAt)].join(),
            ),
          )
        assert.deepStrictEqual(yield* seen(historyPath, { "x-api-key": key }), [
          "dataset,25,25",
          "moz,30,10",
        ])
        const headers = { authorization: `Bearer ${adminToken}` }
        assert.deepStrictEqual((yield* seen(adminPaths.history, headers)).toSorted(), [
          "dataforseo,1,1",
          "dataset,1,1",
          "dataset,25,25",
          "moz,30,1",
        ])
      }),
  )

  const ofUrl = (message: string) => ({ code: "invalid_url", message, path: ["url"] })
  const ofLimit = (code: string, message: string, more = {}) => ({
    code,
    ...more,
    message,
    path: ["limit"],
  })
  const size = { type: "number", inclusive: true, exact: false }
  const least = { minimum: 1, ...size }
  const most = { maximum: 1000, ...size }

  it.scopedLive.each([
    ["", ofUrl("The parameter url is absent")],
    ["?url=", ofUrl("The parameter url is absent")],
    [
      "?url=localhost",
      ofUrl("The url cannot be checked: its host is not under a public domain ending"),
    ],
    [
      "?url=a.com&limit=0",
      ofLimit("too_small", "Number must be greater than or equal to 1", least),
    ],
    [
      "?url=a.com&limit=1001",
      ofLimit("too_big", "Number must be less than or equal to 1000", most),
    ],
    ["?url=a.com&limit=1e3", ofLimit("invalid_value", "Expected a whole number")],
    ["?url=a.com&limit=-1", ofLimit("invalid_value", "Expected a whole number")],
    ["?url=a.com&limit=", ofLimit("invalid_value", "Expected a whole number")],
  ] as const)("the history of %j is a 400 with one issue", ([query, issue]) =>
    Effect.gen(function* () {
      const { get } = yield* running()
      const { body, status } = yield* get(historyPath + query)
      assert.strictEqual(status, 400)
      assert.deepStrictEqual(body.error.issues, [issue])
      // The message gives no advice about a body, because a GET has none.
      assert.strictEqual(body.message, `${issue.path.join(".")}: ${issue.message}.`)
    }),
  )

  it.scopedLive("a request gets 503 at its deadline while the figures cannot be read", () =>
    Effect.gen(function* () {
      const figures = Layer.map(memory.metricsCache, (context) =>
        Context.add(context, MetricsCache, {
          ...Context.get(context, MetricsCache),
          observations: () => Effect.never,
        }),
      )
      const { get } = yield* start({ figures, requestTimeout: "200 millis" })
      assert.strictEqual((yield* get(`${historyPath}?url=example.com`)).status, 503)
    }),
  )
})

/** A provider that remembers figures, and fails for the hosts `failing.*`. */
const remembering = Composed.decorated(
  make((targets) =>
    Effect.succeed(
      targets.map(({ host }) =>
        host.startsWith("failing.") ? providerFailed("as scripted") : checked(),
      ),
    ),
  ).vendor,
  {
    timeout: "1 second",
    concurrency: 1,
    cache: { ttl: Duration.hours(1), capacity: 100 },
  },
).pipe(Layer.provide([memory.metricsCache, memory.costs]))

const today = () => new Date().toISOString().slice(0, 10)
const dayFromNow = (days: number) =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

const failed = { INVALID_URL: 0, PROVIDER_ERROR: 0, SERVER_ERROR: 0 }

describe("the usage of an account", () => {
  it.scopedLive.each(stores)(
    "the usage counts checks, credits, known and bought figures and failures, by day and by key, on %s",
    ([, layer]) =>
      Effect.gen(function* () {
        const stores = Layer.orDie(layer)
        const server = yield* start({ price: 2, provider: remembering, stores })
        const { account, books, check, get, keyId, keys, send } = server
        const { body: none } = yield* get(usagePath)
        assert.deepStrictEqual(none, { success: true, data: { account: "acme", rows: [] } })

        yield* check(["a.example.com", "b.example.com", "failing.example.com", "localhost"])
        yield* check(["a.example.com", "c.example.com"])
        yield* check(["a.example.com", "b.example.com", "localhost"])
        yield* check(["localhost"])
        const issued = yield* keys.issue({ account, label: "second" })
        yield* send(batch(Redacted.value(issued.key), '{"urls":["d.example.com"]}'))

        const first = {
          checks: 6,
          credits: 12,
          known: 3,
          bought: 3,
          failed: { ...failed, INVALID_URL: 2, PROVIDER_ERROR: 1 },
        }
        const second = { checks: 1, credits: 2, known: 0, bought: 1, failed }
        const whole = { ...first, checks: 7, credits: 14, bought: 4 }
        assert.strictEqual((yield* books).charged, 14)
        assert.deepStrictEqual((yield* get(usagePath)).body.data.rows, [{ day: today(), ...whole }])
        assert.deepStrictEqual((yield* get(`${usagePath}?by=key`)).body.data.rows, [
          { key: { id: keyId, label: null }, ...first },
          { key: { id: issued.record.id, label: "second" }, ...second },
        ])
      }),
  )

  it.scopedLive("the usage of a period covers every UTC day that the period touches", () =>
    Effect.gen(function* () {
      const { check, get } = yield* start()
      yield* check(["a.example.com"])
      const days = (query: string) =>
        Effect.map(get(usagePath + query), ({ body }) =>
          body.data.rows.map(({ day }: { readonly day: string }) => day),
        )
      assert.deepStrictEqual(yield* days(`?since=${today()}`), [today()])
      assert.deepStrictEqual(yield* days(`?since=${today()}T23:59:59Z`), [today()])
      assert.deepStrictEqual(yield* days(`?since=${dayFromNow(1)}`), [])
      assert.deepStrictEqual(yield* days(`?until=${today()}`), [])
      assert.deepStrictEqual(yield* days(`?until=${today()}T00:00:00.001Z`), [today()])
      assert.deepStrictEqual(
        yield* days(`?since=${dayFromNow(-1)}&until=${dayFromNow(1)}&by=day`),
        [today()],
      )
    }),
  )

  it.scopedLive("wrong parameters get a 400 with an issue for each", () =>
    Effect.gen(function* () {
      const { get } = yield* start()
      const { body, status } = yield* get(
        `${usagePath}?since=yesterday&until=2026-13-01&by=account`,
      )
      assert.strictEqual(status, 400)
      const time = "Expected a UTC day such as 2026-11-21, or a time such as 2026-11-21T09:30:00Z"
      assert.deepStrictEqual(body.error.issues, [
        { code: "invalid_value", message: time, path: ["since"] },
        { code: "invalid_value", message: time, path: ["until"] },
        { code: "invalid_value", message: "Expected day or key", path: ["by"] },
      ])
      for (const absent of ["2026-02-31", "2027-02-29", "2026-04-31T09:30:00Z"]) {
        const { body } = yield* get(`${usagePath}?since=${absent}`)
        assert.strictEqual(body.error?.issues[0].message, time, absent)
      }
      assert.strictEqual((yield* get(`${usagePath}?since=2028-02-29T23:30:00-05:00`)).status, 200)
    }),
  )
})

describe("the statement of the key's account", () => {
  it.scopedLive.each(stores)(
    "the statement has grants, charges and corrections, newest first, without notes, on %s",
    ([, layer]) =>
      Effect.gen(function* () {
        const server = yield* start({ stores: Layer.orDie(layer), price: 2 })
        const { account, check, get, keyId, ledger } = server
        const checked = yield* check(["a.example.com", "b.example.com", "localhost"])
        yield* ledger.correct(account, Credits.make(6), "for the operator only")

        const { body, status } = yield* get(statementPath)
        assert.strictEqual(status, 200)
        const entries: ReadonlyArray<StatementEntry> = body.data.entries
        const [first, second, third] = entries.map(({ at }) => at)
        const grant = { kind: "grant", amount: 1000, balanceAfter: 1000 }
        const requestId = checked.headers["x-request-id"]
        const charged = { urls: 2, requestId, key: keyId }
        const charge = { kind: "charge", amount: -4, balanceAfter: 996, ...charged }
        const correction = { kind: "correction", amount: -6, balanceAfter: 990 }
        const noCharge = { urls: null, requestId: null, key: null }
        assert.deepStrictEqual<unknown>(entries, [
          { sequence: 3, at: first, ...correction, ...noCharge },
          { sequence: 2, at: second, ...charge },
          { sequence: 1, at: third, ...grant, ...noCharge },
        ])
        assert.deepStrictEqual(body, { success: true, data: { account: "acme", entries } })
        const { body: page } = yield* get(`${statementPath}?limit=1&before=3`)
        assert.deepStrictEqual(page.data.entries, entries.slice(1, 2))
        const wrong = yield* get(`${statementPath}?limit=0&before=x`)
        assert.strictEqual(wrong.status, 400)
        assert.lengthOf(wrong.body.error.issues, 2)
      }),
  )
})
