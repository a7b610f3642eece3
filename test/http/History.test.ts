import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Observation } from "../../src/client/PromiseClient.ts"
import { adminPaths, historyPath } from "../../src/contract/Wire.ts"
import * as memory from "../support/memory.ts"
import { type Figures, MetricsCache } from "../../src/providers/figures/MetricsCache.ts"
import { start } from "../support/TestServer.ts"

const adminToken = "a-token-for-the-tests-of-32-chars"

/** A server whose store has these figures, put one after the other. */
const running = (...all: ReadonlyArray<Figures>) =>
  Effect.gen(function* () {
    const figures = Layer.effect(
      MetricsCache,
      Effect.tap(MetricsCache, (cache) => Effect.forEach(all, (one) => cache.put([one]))),
    ).pipe(Layer.provide(memory.metricsCache))
    const server = yield* start({ figures, adminToken })
    const ask = (query: string) =>
      Effect.map(
        server.send({ path: `${historyPath}${query}`, headers: { "x-api-key": server.key } }),
        ({ status, text }) => ({ status, body: JSON.parse(text) }),
      )
    return { ...server, ask }
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

describe("the history", () => {
  it.scopedLive("the history of a target is newest first and as old as the setting says", () =>
    Effect.gen(function* () {
      const { ask, books } = yield* running(...all)
      const query = `?url=${encodeURIComponent(url)}`
      assert.deepStrictEqual(yield* ask(query), { status: 200, body: { success: true, data } })
      const { body } = yield* ask(`${query}&limit=1`)
      assert.deepStrictEqual(body.data.observations, observations.slice(0, 1))
      const { body: none } = yield* ask("?url=example.org")
      assert.deepStrictEqual(none.data.observations, [])
      assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
    }),
  )

  it.scopedLive("a client sees the history of a cache lifetime ago, the operator all", () =>
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
      const { ask } = yield* running()
      const { body, status } = yield* ask(query)
      assert.strictEqual(status, 400)
      assert.deepStrictEqual(body.error.issues, [issue])
      // No advice about a body, which a GET does not have.
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
      const { key, send } = yield* start({ figures, requestTimeout: "200 millis" })
      const path = `${historyPath}?url=example.com`
      const { status } = yield* send({ path, headers: { "x-api-key": key } })
      assert.strictEqual(status, 503)
    }),
  )
})
