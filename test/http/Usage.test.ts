import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { usagePath } from "../../src/contract/Wire.ts"
import * as memory from "../support/memory.ts"
import { providerFailed } from "../../src/check/Metrics.ts"
import * as Composed from "../../src/providers/Composed.ts"
import { checked, make } from "../support/ScriptedProvider.ts"
import { stores } from "../support/Stores.ts"
import * as TestServer from "../support/TestServer.ts"

/** Remembers figures, and fails for the hosts `failing.*`. */
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

const start = (options: TestServer.Options = {}) =>
  Effect.map(TestServer.start({ provider: remembering, ...options }), (server) => ({
    ...server,
    ask: (query = "") =>
      Effect.map(
        server.send({ path: `${usagePath}${query}`, headers: { "x-api-key": server.key } }),
        ({ status, text }) => ({ status, body: JSON.parse(text) }),
      ),
  }))

const today = () => new Date().toISOString().slice(0, 10)
const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

const failed = { INVALID_URL: 0, PROVIDER_ERROR: 0, SERVER_ERROR: 0 }

describe("the usage", () => {
  it.scopedLive.each(stores)(
    "the usage counts checks, credits, known and bought figures and failures, by day and by key, on %s",
    ([, layer]) =>
      Effect.gen(function* () {
        const stores = Layer.orDie(layer)
        const server = yield* start({ price: 2, stores })
        const { account, ask, books, check, keyId, keys, send } = server
        const { body: none } = yield* ask()
        assert.deepStrictEqual(none, { success: true, data: { account: "acme", rows: [] } })

        yield* check(["a.example.com", "b.example.com", "failing.example.com", "localhost"])
        yield* check(["a.example.com", "c.example.com"])
        yield* check(["a.example.com", "b.example.com", "localhost"])
        yield* check(["localhost"])
        const issued = yield* keys.issue({ account, label: "second" })
        yield* send(TestServer.batch(Redacted.value(issued.key), '{"urls":["d.example.com"]}'))

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
        assert.deepStrictEqual((yield* ask()).body.data.rows, [{ day: today(), ...whole }])
        assert.deepStrictEqual((yield* ask("?by=key")).body.data.rows, [
          { key: { id: keyId, label: null }, ...first },
          { key: { id: issued.record.id, label: "second" }, ...second },
        ])
      }),
  )

  it.scopedLive("the usage of a period has the UTC days that the period touches", () =>
    Effect.gen(function* () {
      const { ask, check } = yield* start()
      yield* check(["a.example.com"])
      const days = (query: string) =>
        Effect.map(ask(query), ({ body }) =>
          body.data.rows.map(({ day }: { readonly day: string }) => day),
        )
      assert.deepStrictEqual(yield* days(`?since=${today()}`), [today()])
      assert.deepStrictEqual(yield* days(`?since=${today()}T23:59:59Z`), [today()])
      assert.deepStrictEqual(yield* days(`?since=${day(1)}`), [])
      assert.deepStrictEqual(yield* days(`?until=${today()}`), [])
      assert.deepStrictEqual(yield* days(`?until=${today()}T00:00:00.001Z`), [today()])
      assert.deepStrictEqual(yield* days(`?since=${day(-1)}&until=${day(1)}&by=day`), [today()])
    }),
  )

  it.scopedLive("wrong parameters are a 400 with an issue for each", () =>
    Effect.gen(function* () {
      const { ask } = yield* start()
      const { body, status } = yield* ask("?since=yesterday&until=2026-13-01&by=account")
      assert.strictEqual(status, 400)
      const time = "Expected a UTC day such as 2026-11-21, or a time such as 2026-11-21T09:30:00Z"
      assert.deepStrictEqual(body.error.issues, [
        { code: "invalid_value", message: time, path: ["since"] },
        { code: "invalid_value", message: time, path: ["until"] },
        { code: "invalid_value", message: "Expected day or key", path: ["by"] },
      ])
      for (const absent of ["2026-02-31", "2027-02-29", "2026-04-31T09:30:00Z"]) {
        const { body } = yield* ask(`?since=${absent}`)
        assert.strictEqual(body.error?.issues[0].message, time, absent)
      }
      assert.strictEqual((yield* ask("?since=2028-02-29T23:30:00-05:00")).status, 200)
    }),
  )
})
