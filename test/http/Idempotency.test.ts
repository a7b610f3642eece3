/**
 * Tests requests that are repeated with an idempotency key, over real HTTP, restarts and replicas.
 */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { failed, make, succeeding } from "../support/ScriptedProvider.ts"
import { hasPostgres, postgresDatabase, sqliteFile, temporaryDatabase } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { batch, memoryLedger, start } from "../support/TestServer.ts"
import type { Answer } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

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

/** Starts a server whose provider does not answer before `open` runs. */
const blocked = Effect.gen(function* () {
  const gate = yield* Deferred.make<void>()
  const { calls, layer } = make((targets) =>
    Effect.zipRight(Deferred.await(gate), succeeding(targets)),
  )
  const server = yield* start({ provider: layer })
  return { ...server, calls, open: Deferred.succeed(gate, undefined) }
})

describe("a repeated request with the same idempotency key", () => {
  it.scopedLive(
    "repeating a batch with its idempotency key returns the same bytes and charges once",
    () =>
      Effect.gen(function* () {
        const { calls, layer } = make(succeeding)
        const server = yield* start({ provider: layer })
        const urls = ["example.com", "localhost", "example.org"]
        const first = yield* server.post(body(...urls), named('"a"'))
        isFirst(first)
        assert.strictEqual(creditsUsed(first), 2)
        isReplayOf(first, yield* server.post(body(...urls), named("a")))
        const spaced = `{ "more": 1, "urls": ${JSON.stringify(urls)} }`
        isReplayOf(first, yield* server.post(spaced, named('"a"')))
        assert.strictEqual((yield* server.books).charged, 2)
        assert.strictEqual(calls.length, 1)
      }),
  )

  it.scopedLive("an answer that was free of charge is also replayed", () =>
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

  it.scopedLive("reusing an idempotency key for other URLs or another order gets 422", () =>
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
    "a repeated request gets 409 while the first is in flight, even if its client has hung up",
    () =>
      Effect.gen(function* () {
        const { books, calls, open, post } = yield* blocked
        const send = post(body("example.com"), named('"a"'))
        const gone = yield* Effect.fork(send)
        yield* eventually("the provider is asked", () => calls.length === 1)
        yield* Fiber.interrupt(gone)
        const refused = yield* send
        assert.strictEqual(refused.status, 409)
        assert.strictEqual(refused.headers["retry-after"], "1")
        assert.deepStrictEqual(JSON.parse(refused.text), {
          success: false,
          message:
            "A request with this Idempotency-Key is in progress; try again when it has ended.",
        })
        yield* open
        yield* eventually(
          "the answer is stored",
          Effect.map(send, ({ headers }) => headers["idempotent-replayed"] === "true"),
        )
        assert.strictEqual(creditsUsed(yield* send), 1)
        assert.lengthOf(calls, 1)
        assert.deepInclude(yield* books, { charged: 1, held: 0 })
      }),
  )

  it.scopedLive(
    "a client that hangs up after the charge gets the stored answer when it repeats the request",
    () =>
      Effect.gen(function* () {
        const [charged, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const slow = Layer.function(CreditLedger, CreditLedger, (ledger) => ({
          ...ledger,
          settle: (...args: Parameters<typeof ledger.settle>) =>
            ledger
              .settle(...args)
              .pipe(
                Effect.zipLeft(Deferred.succeed(charged, undefined)),
                Effect.zipLeft(Deferred.await(goOn)),
              ),
        }))
        const { calls, layer } = make(succeeding)
        const ledger = Layer.provide(slow, memoryLedger)
        const { books, post } = yield* start({ ledger, provider: layer })
        const send = post(body("example.com"), named('"a"'))
        const gone = yield* Effect.fork(send)
        yield* Deferred.await(charged)
        yield* Fiber.interrupt(gone)
        yield* Deferred.succeed(goOn, undefined)
        const collected = yield* send
        assert.strictEqual(collected.headers["idempotent-replayed"], "true")
        assert.strictEqual(creditsUsed(collected), 1)
        assert.lengthOf(calls, 1)
        assert.deepInclude(yield* books, { charged: 1, held: 0 })
      }),
  )

  it.scopedLive("twenty concurrent requests with one idempotency key are charged once", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const post = server.post(body("example.com"), named('"a"'))
      const answers = yield* Effect.all(Array<typeof post>(20).fill(post), {
        concurrency: "unbounded",
      })
      const first = answers.filter(
        ({ headers, status }) => status === 200 && headers["idempotent-replayed"] === undefined,
      )
      assert.strictEqual(first.length, 1)
      assert.isTrue(answers.every(({ status }) => status === 200 || status === 409))
      assert.deepInclude(yield* server.books, { charged: 1, held: 0 })
    }),
  )

  it.scopedLive(
    "a 400 and a 401 do not use up an idempotency key, and another account sees no stored answer",
    () =>
      Effect.gen(function* () {
        const server = yield* start()
        const stranger = { ...named('"a"'), "x-api-key": `${server.key}x` }
        assert.strictEqual((yield* server.post(body(), named('"a"'))).status, 400)
        assert.strictEqual((yield* server.post("{", named('"a"'))).status, 400)
        assert.strictEqual((yield* server.post(body("example.com"), stranger)).status, 401)
        isFirst(yield* server.post(body("example.com"), named('"a"')))
        assert.strictEqual((yield* server.post(body("example.com"), stranger)).status, 401)
        assert.strictEqual((yield* server.books).charged, 1)
      }),
  )
})

describe("stored answers after a restart and in other processes", () => {
  it.scopedLive("a stored answer survives a restart of the service", () =>
    Effect.gen(function* () {
      const stores = Layer.orDie(sqliteFile(join(yield* temporaryFolder, "authority.db")))
      const { first, key } = yield* Effect.gen(function* () {
        const { key, post } = yield* start({ stores })
        return { key, first: yield* post(body("example.com"), named('"a"')) }
      }).pipe(Effect.scoped)
      isFirst(first)
      const { books, send } = yield* start({ stores })
      isReplayOf(first, yield* send(batch(key, body("example.com"), named('"a"'))))
      assert.strictEqual((yield* books).charged, 1)
    }),
  )

  it.scopedLive.runIf(hasPostgres)("a stored answer is replayed by another process", () =>
    Effect.gen(function* () {
      const stores = Layer.orDie(postgresDatabase(yield* temporaryDatabase))
      const [one, other] = [yield* start({ stores }), yield* start({ stores })]
      const post = ({ send }: typeof one, name: string) =>
        send(batch(one.key, body("example.com"), named(name)))
      const first = yield* post(one, '"a"')
      isFirst(first)
      isReplayOf(first, yield* post(other, '"a"'))

      const answers = yield* Effect.all(
        Array.from({ length: 20 }, (_, i) => post(i % 2 === 0 ? one : other, '"b"')),
        { concurrency: "unbounded" },
      )
      assert.isTrue(answers.every(({ status }) => status === 200 || status === 409))
      assert.strictEqual((yield* other.books).charged, 2)
      assert.deepStrictEqual((yield* other.ledger.verify).problems, [])
    }),
  )
})
