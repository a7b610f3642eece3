/** Tests requests during faults, and the rows that requests leave in the database. */
import { assert, describe, it } from "@effect/vitest"
import { SqlError } from "@effect/sql/SqlError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type Service, start, type Transactions } from "../support/DatabaseService.ts"
import { checked, knowing, succeeding } from "../support/ScriptedProvider.ts"
import { type Ask, newProvider, plain, requestOf } from "../support/asks.ts"
import { type Answer } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

/** Starts a service with a client whose API key is cached, so that no query for the key follows. */
const startWarm = (options: Partial<Parameters<typeof start>[0]> = {}) =>
  Effect.gen(function* () {
    const service = yield* start({ provider: newProvider().layer, ...options })
    const { account, key } = yield* service.newClient(100)
    const send = (ask: Ask) => service.send(requestOf(ask, key))
    assert.strictEqual((yield* send(plain("localhost"))).status, 200)
    return { ...service, books: service.booksOf(account), send, key }
  })

const known = (name?: string): Ask => ({ ...plain("known-1.example.com"), idempotencyKey: name })

const linesOf = (log: ReadonlyArray<string>, { headers }: Answer) =>
  log
    .map((line) => JSON.parse(line))
    .filter(({ annotations }) => annotations.requestId === headers["x-request-id"])

describe("requests during faults", () => {
  for (const name of [undefined, "a"]) {
    const title =
      name === undefined ? "is charged" : "gets the stored answer when it repeats the request"
    it.scopedLive(`a client that hangs up during the commit ${title}`, () =>
      Effect.gen(function* () {
        const transactions: Transactions = {}
        const { books, openConnections, send, ...service } = yield* startWarm({
          transactions,
        })
        const reached = yield* Deferred.make<void>()
        const goOn = yield* Deferred.make<void>()
        transactions.around = (transaction) =>
          Deferred.succeed(reached, undefined).pipe(
            Effect.zipRight(Deferred.await(goOn)),
            Effect.zipRight(transaction),
          )
        const gone = yield* Effect.fork(send(known(name)))
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(gone)
        yield* eventually(
          "the server sees that the client is gone",
          Effect.map(openConnections, (count) => count === 0),
        )
        yield* Deferred.succeed(goOn, undefined)
        yield* eventually(
          "the charge is committed",
          Effect.map(books, ({ charged }) => charged === 1),
        )
        const again = yield* send(known(name))
        assert.strictEqual(again.status, 200)
        const isReplay = again.headers["idempotent-replayed"] === "true"
        assert.strictEqual(isReplay, name !== undefined)
        const { charged, held } = yield* books
        assert.deepStrictEqual([charged, held].map(Number), [isReplay ? 1 : 2, 0])
        assert.deepStrictEqual((yield* service.verify).problems, [])
      }),
    )
  }

  it.scopedLive("a request whose commit fails gets 500 without details, and is not charged", () =>
    Effect.gen(function* () {
      const transactions: Transactions = {}
      const { books, log, send } = yield* startWarm({ transactions })
      const before = yield* books
      transactions.around = () =>
        // The ledger's transactions fail with this error, but the generic type does not show it.
        Effect.fail(new SqlError({ cause: new Error("the disk is on fire") })) as never
      const answer = yield* send(known("a"))
      assert.strictEqual(answer.status, 500)
      assert.strictEqual(answer.text, '{"success":false,"message":"Internal server error."}')
      assert.strictEqual(answer.headers["content-type"], "application/json")
      const [failure, answered, ...rest] = linesOf(log, answer)
      assert.deepStrictEqual(rest, [])
      assert.deepInclude(failure, {
        message:
          "The request failed with status 500. If the database works, please report the stack trace that the field 'cause' contains.",
        logLevel: "ERROR",
      })
      assert.include(failure.cause, "the disk is on fire")
      assert.strictEqual(answered.annotations.status, 500)
      assert.deepStrictEqual(yield* books, before)

      delete transactions.around
      const again = yield* send(known("a"))
      assert.strictEqual(again.status, 200)
      assert.isUndefined(again.headers["idempotent-replayed"])
      assert.strictEqual(Number((yield* books).charged), 1)
    }),
  )

  it.scopedLive("an unreadable stored answer gives 500 and stays unchanged", () =>
    Effect.gen(function* () {
      const { books, log, send, sql } = yield* startWarm()
      assert.strictEqual((yield* send(known("a"))).status, 200)
      yield* sql`UPDATE receipts SET body = 'tampered with'`
      const before = yield* books
      const answer = yield* Effect.timeout(send(known("a")), "10 seconds")
      assert.strictEqual(answer.status, 500)
      assert.strictEqual(answer.text, '{"success":false,"message":"Internal server error."}')
      assert.strictEqual(
        linesOf(log, answer)[0].message,
        "The request failed with status 500. If the database works, please report the stack trace that the field 'cause' contains.",
      )
      assert.deepStrictEqual(yield* books, before)
    }),
  )
})

describe("the stored data after a request", () => {
  /** Returns all idempotency keys and the numbers of holds and entries. */
  const rowsOf = ({ sql }: Pick<Service, "sql">) =>
    Effect.gen(function* () {
      const keys = yield* sql`SELECT * FROM receipts ORDER BY account_id, key`
      const [counts] = yield* sql`
        SELECT (SELECT COUNT(*) FROM holds) AS holds, (SELECT COUNT(*) FROM entries) AS entries`
      return { keys: [...keys], ...counts }
    })

  const bought = (name: string): Ask => ({ ...plain("bought-1.example.com"), idempotencyKey: name })

  it.scopedLive(
    "a batch of only invalid URLs stores nothing, but its idempotency key is validated",
    () =>
      Effect.gen(function* () {
        const { send, ...service } = yield* startWarm()
        const before = yield* rowsOf(service)
        const invalid = plain("localhost", "192.0.2.1")
        for (const idempotencyKey of ["a", "a", '"b"']) {
          assert.strictEqual((yield* send({ ...invalid, idempotencyKey })).status, 200)
        }
        for (const idempotencyKey of ["", "two words", "k".repeat(256)]) {
          assert.strictEqual((yield* send({ ...invalid, idempotencyKey })).status, 400)
        }
        assert.deepStrictEqual(yield* rowsOf(service), before)
      }),
  )

  it.scopedLive("a 402 leaves no hold, no ledger entry and no idempotency key", () =>
    Effect.gen(function* () {
      const { send, ...service } = yield* startWarm({ price: 101 })
      const before = yield* rowsOf(service)
      for (const ask of [known("a"), bought("b")]) {
        assert.strictEqual((yield* send(ask)).status, 402)
      }
      assert.deepStrictEqual(yield* rowsOf(service), before)
    }),
  )

  it.scopedLive("a 500 releases its hold and idempotency key in one commit and leaves no row", () =>
    Effect.gen(function* () {
      const transactions: Transactions = {}
      const { send, ...service } = yield* startWarm({ transactions })
      const before = yield* rowsOf(service)
      for (const [ask, fails, count] of [
        [known("a"), 1, 1],
        [bought("b"), 1, 1],
        // The second of two commits fails, and the third one is the release.
        [bought("c"), 2, 3],
      ] as const) {
        let commits = 0
        transactions.around = (transaction) =>
          Effect.suspend(() =>
            ++commits === fails
              ? // The ledger's transactions fail with this error, but the generic type does not show it.
                (Effect.fail(new SqlError({ cause: new Error("the disk is on fire") })) as never)
              : transaction,
          )
        assert.strictEqual((yield* send(ask)).status, 500)
        assert.strictEqual(commits, count)
        assert.deepStrictEqual(yield* rowsOf(service), before)
      }
      delete transactions.around
      const again = yield* send(bought("c"))
      assert.strictEqual(again.status, 200)
      assert.isUndefined(again.headers["idempotent-replayed"])
    }),
  )

  it.scopedLive("a 409 and a 422 leave the idempotency key unchanged", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      const provider = knowing(
        (page) => (page.startsWith("known") ? checked() : undefined),
        (targets) =>
          Deferred.succeed(reached, undefined).pipe(
            Effect.zipRight(Deferred.await(goOn)),
            Effect.zipRight(succeeding(targets)),
          ),
      )
      const { send, ...service } = yield* startWarm({ provider: provider.layer })
      const first = yield* Effect.fork(send(bought("a")))
      yield* Deferred.await(reached)
      const inFlight = yield* rowsOf(service)
      assert.lengthOf(inFlight.keys, 1)
      assert.strictEqual((yield* send(bought("a"))).status, 409)
      assert.strictEqual((yield* send(known("a"))).status, 422)
      assert.deepStrictEqual(yield* rowsOf(service), inFlight)
      yield* Deferred.succeed(goOn, undefined)
      const { text } = yield* Fiber.join(first)
      const answered = yield* rowsOf(service)
      assert.strictEqual((yield* send(known("a"))).status, 422)
      assert.strictEqual(
        (yield* send({ ...plain("bought-2.example.com"), idempotencyKey: "a" })).status,
        422,
      )
      assert.deepStrictEqual(yield* rowsOf(service), answered)
      const replay = yield* send(bought("a"))
      assert.deepStrictEqual([replay.text, replay.headers["idempotent-replayed"]], [text, "true"])
    }),
  )
})
