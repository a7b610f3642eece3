/** Repeated requests with an idempotency key: over real HTTP, restarts and replicas. */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ApiKeys } from "../../src/ApiKeys.ts"
import * as AuthorityCheck from "../../src/AuthorityCheck.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Listener } from "../../src/http/NodeServer.ts"
import * as Server from "../../src/http/Server.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as memory from "../support/memory.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import { figures, problemsOf } from "../../scripts/support/ledger.ts"
import { failed, make, succeeding } from "../support/ScriptedProvider.ts"
import {
  hasPostgres,
  type Ports,
  postgresDatabase,
  sqliteFile,
  temporaryDatabase,
} from "../support/Stores.ts"
import * as UsageReport from "../../src/UsageReport.ts"
import { figureHistory } from "../support/figureHistory.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { batch, memoryLedger, start } from "../support/TestServer.ts"
import { type Answer, request } from "../../scripts/support/RawHttp.ts"
import { eventually } from "../../scripts/support/eventually.ts"

const body = (...urls: ReadonlyArray<string>) => JSON.stringify({ urls })
const named = (key: string) => ({ "idempotency-key": key })
const creditsUsed = ({ text }: Answer): number => JSON.parse(text).quota.creditsUsed

const isFirst = (answer: Answer) => {
  assert.strictEqual(answer.status, 200, answer.text)
  assert.isUndefined(answer.headers["idempotent-replayed"])
}

/** A replay has the same bytes, its own request id, and the header Idempotent-Replayed. */
const isReplayOf = (first: Answer, again: Answer) => {
  assert.strictEqual(again.status, 200, again.text)
  assert.strictEqual(again.text, first.text)
  assert.strictEqual(again.headers["content-type"], first.headers["content-type"])
  assert.strictEqual(again.headers["idempotent-replayed"], "true")
  assert.notStrictEqual(again.headers["x-request-id"], first.headers["x-request-id"])
}

/** A provider that answers after `open` is called. */
const blocked = Effect.gen(function* () {
  const gate = yield* Deferred.make<void>()
  const { calls, layer } = make((targets) =>
    Effect.zipRight(Deferred.await(gate), succeeding(targets)),
  )
  return { calls, layer, open: Deferred.succeed(gate, undefined) }
})

describe("a repeated request with the same idempotency key", () => {
  it.scopedLive(
    "a request repeated with its idempotency key gets the same bytes and is charged once",
    () =>
      Effect.gen(function* () {
        const { calls, layer } = make(succeeding)
        const server = yield* start({ provider: layer })
        const post = server.post(body("example.com", "localhost", "example.org"), named('"a"'))
        const first = yield* post
        isFirst(first)
        assert.strictEqual(creditsUsed(first), 2)
        isReplayOf(first, yield* post)
        isReplayOf(first, yield* post)
        assert.strictEqual((yield* server.books).charged, 2)
        assert.strictEqual(calls.length, 1)
      }),
  )

  it.scopedLive("an answer that was free of charge is also replayed for its idempotency key", () =>
    Effect.gen(function* () {
      const { calls, layer } = make((targets) => Effect.succeed(targets.map(() => failed)))
      const server = yield* start({ provider: layer })
      const post = server.post(body("example.com"), named('"a"'))
      const first = yield* post
      isFirst(first)
      assert.strictEqual(creditsUsed(first), 0)
      isReplayOf(first, yield* post)
      assert.strictEqual(calls.length, 1)
    }),
  )

  it.scopedLive("a batch of only invalid URLs does not use up its idempotency key", () =>
    Effect.gen(function* () {
      const server = yield* start({ credits: 0 })
      const first = yield* server.post(body("localhost"), named('"a"'))
      isFirst(first)
      const again = yield* server.post(body("localhost"), named('"a"'))
      isFirst(again)
      assert.strictEqual(again.text, first.text)
      isFirst(yield* server.post(body("192.0.2.1"), named('"a"')))
      assert.strictEqual((yield* server.post(body("localhost"), named(""))).status, 400)
    }),
  )

  it.scopedLive("a stored answer is replayed for an account without credits", () =>
    Effect.gen(function* () {
      const server = yield* start({ credits: 1 })
      const post = server.post(body("example.com"), named('"a"'))
      const first = yield* post
      isReplayOf(first, yield* post)
      assert.strictEqual((yield* server.post(body("example.com"), named('"b"'))).status, 402)
    }),
  )

  it.scopedLive(
    "a repeated request that differs only in spaces and unknown fields gets the stored answer",
    () =>
      Effect.gen(function* () {
        const server = yield* start()
        const first = yield* server.post(body("example.com"), named('"a"'))
        const again = yield* server.post(`{ "more": 1, "urls": ["example.com"] }`, named('"a"'))
        isReplayOf(first, again)
      }),
  )

  it.scopedLive("an idempotency key used with other URLs or another order gets 422", () =>
    Effect.gen(function* () {
      const server = yield* start()
      isFirst(yield* server.post(body("example.com", "example.org"), named('"a"')))
      for (const other of [body("example.com"), body("example.org", "example.com")]) {
        const refused = yield* server.post(other, named('"a"'))
        assert.strictEqual(refused.status, 422)
        assert.deepStrictEqual(JSON.parse(refused.text), {
          success: false,
          message:
            "This Idempotency-Key was used with another body; use a new key for a new request.",
        })
      }
      assert.strictEqual((yield* server.books).charged, 2)
    }),
  )

  it.scopedLive(
    "a repeated request gets 409 while the first request is in flight, and the stored answer afterwards",
    () =>
      Effect.gen(function* () {
        const { calls, layer, open } = yield* blocked
        const server = yield* start({ provider: layer })
        const post = server.post(body("example.com"), named('"a"'))
        const asked = yield* Effect.fork(post)
        yield* eventually("the provider is asked", () => calls.length === 1)
        const refused = yield* post
        assert.strictEqual(refused.status, 409)
        assert.strictEqual(refused.headers["retry-after"], "1")
        assert.deepStrictEqual(JSON.parse(refused.text), {
          success: false,
          message:
            "A request with this Idempotency-Key is in progress; try again when it has ended.",
        })
        yield* open
        const first = yield* Fiber.join(asked)
        isFirst(first)
        isReplayOf(first, yield* post)
        assert.strictEqual((yield* server.books).charged, 1)
      }),
  )

  it.scopedLive("twenty concurrent requests with one idempotency key are charged once", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const post = server.post(body("example.com"), named('"a"'))
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, () => post),
        { concurrency: "unbounded" },
      )
      const first = answers.filter(
        ({ headers, status }) => status === 200 && headers["idempotent-replayed"] === undefined,
      )
      assert.strictEqual(first.length, 1)
      assert.isTrue(answers.every(({ status }) => status === 200 || status === 409))
      assert.deepInclude(yield* server.books, { charged: 1, held: 0 })
    }),
  )
})

describe("the header Idempotency-Key", () => {
  it.scopedLive("quotes around an idempotency key do not matter, but its letter case does", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const first = yield* server.post(body("example.com"), named("a-1"))
      isFirst(first)
      isReplayOf(first, yield* server.post(body("example.com"), named('"a-1"')))
      isFirst(yield* server.post(body("example.com"), named('"a\\"1"')))
      isFirst(yield* server.post(body("example.com"), named('"A-1"')))
    }),
  )

  it.scopedLive("an idempotency key may have 255 characters", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const key = "k".repeat(255)
      const first = yield* server.post(body("example.com"), named(`"${key}"`))
      isFirst(first)
      isReplayOf(first, yield* server.post(body("example.com"), named(key)))
    }),
  )

  it.scopedLive("an invalid idempotency key gets 400, and nothing is charged", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const invalid = ["", '""', "k".repeat(256), '"open', 'quo"te', "two words", '"a\\b"', "é"]
      for (const key of invalid) {
        const refused = yield* server.post(body("example.com"), named(key))
        assert.strictEqual(refused.status, 400, key)
        const { error } = JSON.parse(refused.text)
        assert.deepStrictEqual(
          error.issues.map(({ code }: { readonly code: string }) => code),
          ["invalid_idempotency_key"],
        )
      }
      assert.strictEqual((yield* server.books).charged, 0)
    }),
  )
})

describe("an answer that is not stored", () => {
  it.scopedLive("a 400 does not use up the idempotency key", () =>
    Effect.gen(function* () {
      const server = yield* start()
      assert.strictEqual((yield* server.post(body(), named('"a"'))).status, 400)
      assert.strictEqual((yield* server.post("{", named('"a"'))).status, 400)
      isFirst(yield* server.post(body("example.com"), named('"a"')))
    }),
  )

  it.scopedLive(
    "a 401 does not use up the idempotency key, and no stored answer is shown to a wrong API key",
    () =>
      Effect.gen(function* () {
        const server = yield* start()
        const stranger = { ...named('"a"'), "x-api-key": `${server.key}x` }
        assert.strictEqual((yield* server.post(body("example.com"), stranger)).status, 401)
        const first = yield* server.post(body("example.com"), named('"a"'))
        isFirst(first)
        assert.strictEqual((yield* server.post(body("example.com"), stranger)).status, 401)
      }),
  )

  it.scopedLive("a 402 does not use up the idempotency key", () =>
    Effect.gen(function* () {
      const server = yield* start({ credits: 0 })
      const post = server.post(body("example.com"), named('"a"'))
      assert.strictEqual((yield* post).status, 402)
      yield* server.ledger.grant(server.account, Credits.make(5), null)
      isFirst(yield* post)
    }),
  )

  it.scopedLive("a 500 does not use up the idempotency key, and the repeat is charged once", () =>
    Effect.gen(function* () {
      let isBroken = true
      const ledger = Layer.map(memoryLedger, (context) => {
        const whole = Context.get(context, CreditLedger)
        const breaking = CreditLedger.of({
          ...whole,
          settle: (...args) =>
            isBroken ? Effect.dieMessage("the disk is full") : whole.settle(...args),
        })
        return Context.make(CreditLedger, breaking)
      })
      const server = yield* start({ ledger, provider: make(succeeding).layer })
      const post = server.post(body("example.com"), named('"a"'))
      assert.strictEqual((yield* post).status, 500)
      isBroken = false
      isFirst(yield* post)
      assert.strictEqual((yield* server.books).charged, 1)
    }),
  )
})

describe("a client that hangs up and repeats its request", () => {
  it.scopedLive("a client that hangs up before the charge collects the answer with its key", () =>
    Effect.gen(function* () {
      const { calls, layer, open } = yield* blocked
      const server = yield* start({ provider: layer })
      const post = server.post(body("example.com"), named('"a"'))
      const gone = yield* Effect.fork(post)
      yield* eventually("the provider is asked", () => calls.length === 1)
      yield* Fiber.interrupt(gone)
      assert.strictEqual((yield* post).status, 409)
      yield* open
      yield* eventually(
        "the answer is stored",
        Effect.map(post, ({ headers }) => headers["idempotent-replayed"] === "true"),
      )
      assert.lengthOf(calls, 1)
      assert.deepInclude(yield* server.books, { charged: 1, held: 0 })
    }),
  )

  it.scopedLive(
    "a client that hangs up after the charge gets the stored answer when it repeats the request",
    () =>
      Effect.gen(function* () {
        const charged = yield* Deferred.make<void>()
        const goOn = yield* Deferred.make<void>()
        const ledger = Layer.map(memoryLedger, (context) => {
          const whole = Context.get(context, CreditLedger)
          const slow = CreditLedger.of({
            ...whole,
            settle: (...args) =>
              Effect.zipLeft(
                whole.settle(...args),
                Effect.zipRight(Deferred.succeed(charged, undefined), Deferred.await(goOn)),
              ),
          })
          return Context.make(CreditLedger, slow)
        })
        const { calls, layer } = make(succeeding)
        const server = yield* start({ ledger, provider: layer })
        const post = server.post(body("example.com"), named('"a"'))
        const gone = yield* Effect.fork(post)
        yield* Deferred.await(charged)
        yield* Fiber.interrupt(gone)
        yield* Deferred.succeed(goOn, undefined)

        const collected = yield* post
        assert.strictEqual(collected.headers["idempotent-replayed"], "true")
        assert.strictEqual(creditsUsed(collected), 1)
        assert.strictEqual(calls.length, 1)
        assert.deepInclude(yield* server.books, { charged: 1, held: 0 })
      }),
  )
})

/** Starts a server on these stores for the current scope and returns its URL. */
const serveOn = (stores: Context.Context<Ports>) =>
  Effect.gen(function* () {
    const { layer: provider } = make(succeeding)
    const context = yield* Layer.build(
      Server.layer({
        host: "127.0.0.1",
        port: 0,
        requestTimeout: "30 seconds",
        shutdownTimeout: "1 second",
        corsOrigins: [],
        maxConnections: 1000,
        isTraced: false,
        hasSyntheticFigures: false,
        rateLimit: undefined,
      }).pipe(
        Layer.provide([
          AuthorityCheck.layer({ price: Credits.make(1) }),
          figureHistory(),
          UsageReport.layer,
        ]),
        Layer.provide(provider),
        Layer.provide(memory.health),
        Layer.provide(Layer.succeedContext(stores)),
      ),
    )
    return Context.get(context, Listener).address().url
  })

/** Creates an account with 10 credits and an API key. */
const newClient = Effect.gen(function* () {
  const account = yield* newAccountWith(10)
  const { key } = yield* (yield* ApiKeys).issue({ account })
  return { account, key: Redacted.value(key) }
})

describe("stored answers after a restart and in other processes", () => {
  it.scopedLive("a stored answer survives a restart of the service", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "authority.db")
      const post = (url: string, key: string) =>
        request(url, batch(key, body("example.com"), named('"a"')))
      const before = yield* Effect.gen(function* () {
        const stores = yield* Layer.build(sqliteFile(file))
        const client = yield* Effect.provide(newClient, stores)
        return { ...client, first: yield* post(yield* serveOn(stores), client.key) }
      }).pipe(Effect.scoped)
      isFirst(before.first)

      const stores = yield* Layer.build(sqliteFile(file))
      isReplayOf(before.first, yield* post(yield* serveOn(stores), before.key))
      const { charged } = yield* Effect.provide(figures(before.account), stores)
      assert.strictEqual(charged, 1)
    }),
  )

  it.scopedLive.runIf(hasPostgres)(
    "a stored answer is replayed by another process on the same PostgreSQL database",
    () =>
      Effect.gen(function* () {
        const database = yield* temporaryDatabase
        const [one, other] = [
          yield* Layer.build(postgresDatabase(database)),
          yield* Layer.build(postgresDatabase(database)),
        ]
        const urls = [yield* serveOn(one), yield* serveOn(other)] as const
        const { account, key } = yield* Effect.provide(newClient, one)
        const post = (url: string, name: string) =>
          request(url, batch(key, body("example.com"), named(name)))
        const first = yield* post(urls[0], '"a"')
        isFirst(first)
        isReplayOf(first, yield* post(urls[1], '"a"'))

        const answers = yield* Effect.all(
          Array.from({ length: 20 }, (_, i) => post(urls[i % 2] ?? urls[0], '"b"')),
          { concurrency: "unbounded" },
        )
        assert.isTrue(answers.every(({ status }) => status === 200 || status === 409))
        assert.strictEqual((yield* Effect.provide(figures(account), other)).charged, 2)
        assert.deepStrictEqual(yield* Effect.provide(problemsOf(account), other), [])
      }),
  )
})
