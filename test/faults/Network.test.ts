/** The way to PostgreSQL fails, at the worst moment: with a COMMIT on it. */
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { CreditLedger } from "../../src/CreditLedger.ts"
import { Receipts } from "../../src/Receipts.ts"
import * as Failure from "../../src/sql/Failure.ts"
import { newAccountWith } from "../support/accounts.ts"
import {
  charge,
  credits,
  figures,
  grant,
  hold,
  newRequest,
  problemsOf,
  settle,
  statement,
} from "../support/ledger.ts"
import { saidBy } from "../support/load.ts"
import * as Proxy from "../support/Proxy.ts"
import { postgresDatabase, temporaryDatabase } from "../support/Stores.ts"
import { eventually } from "../support/Wire.ts"

/** Stores behind a network, which is given up soon; and the database itself, reached directly. */
const behindProxy = Effect.gen(function* () {
  const database = yield* temporaryDatabase
  const proxy = yield* Proxy.make(database)
  const direct = yield* Layer.build(postgresDatabase(database))
  const context = yield* Layer.build(postgresDatabase(proxy.url, { silence: "500 millis" }))
  return { proxy, direct, context }
})

const saidOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) ? saidBy(exit.cause) : "nothing failed"

const unreachable = /^the database cannot be reached/

const fates: ReadonlyArray<Proxy.Fate> = ["answer lost", "request lost", "silence"]

describe.each(fates)("a COMMIT whose fate is: %s", (fate) => {
  it.scopedLive("is looked for on a new connection, and stands exactly once", () =>
    Effect.gen(function* () {
      const { context, proxy } = yield* behindProxy
      yield* Effect.gen(function* () {
        const account = yield* newAccountWith(100)
        const doomed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
          Effect.zipRight(
            Effect.sync(() => proxy.doom(fate)),
            Effect.tap(effect, () => assert.isTrue(proxy.isFulfilled())),
          )
        const ledger = yield* CreditLedger
        const once = { amount: credits(2), urls: 2 }
        const request = { accountId: account, requestId: newRequest(), amount: credits(5) }

        yield* doomed(grant(account, 11))
        yield* doomed(ledger.charge(request, once))
        const first = yield* doomed(hold(account, 7))
        yield* doomed(settle(first, 3))
        const second = yield* doomed(hold(account, 7))
        yield* doomed(settle(second, 0))

        assert.deepStrictEqual(
          (yield* statement(account)).map(({ amount, requestId }) => [Number(amount), requestId]),
          [
            [100, null],
            [11, null],
            [2, request.requestId],
            [3, first.requestId],
          ],
        )
        assert.deepInclude(yield* figures(account), { granted: 111, charged: 5, held: 0 })
        assert.deepStrictEqual(yield* problemsOf(account), [])
      }).pipe(Effect.provide(context))
    }),
  )

  it.scopedLive("leaves an idempotency key with the request that took it", () =>
    Effect.gen(function* () {
      const { context, proxy } = yield* behindProxy
      yield* Effect.gen(function* () {
        const accountId = yield* newAccountWith(1)
        const receipts = yield* Receipts
        const claim = { accountId, key: "once", fingerprint: "one", requestId: newRequest() }
        proxy.doom(fate)
        assert.isUndefined(yield* receipts.claim(claim))
        assert.isTrue(proxy.isFulfilled())
        const other = yield* Effect.flip(receipts.claim({ ...claim, requestId: newRequest() }))
        assert.strictEqual(other._tag, "StillInFlight")
      }).pipe(Effect.provide(context))
    }),
  )
})

describe("a charge of which nobody can be told", () => {
  it.scopedLive("is in the statement under its request, and collected by its key", () =>
    Effect.gen(function* () {
      const { context, direct, proxy } = yield* behindProxy
      const accountId = yield* Effect.provide(newAccountWith(10), context)
      const requestId = newRequest()
      const claim = { accountId, key: "once", fingerprint: "one", requestId }
      const exit = yield* Effect.gen(function* () {
        const ledger = yield* CreditLedger
        yield* (yield* Receipts).claim(claim)
        const held = yield* ledger.hold(accountId, credits(3), requestId)
        proxy.doom("answer lost")
        const settling = yield* Effect.fork(
          Effect.exit(
            ledger.settle(held, { amount: credits(2), urls: 2 }, { claim, body: "the answer" }),
          ),
        )
        yield* eventually("COMMIT is sent", proxy.isFulfilled)
        proxy.setDown(true)
        return yield* settling
      }).pipe(Effect.provide(context))
      assert.match(saidOf(exit), unreachable)

      yield* Effect.gen(function* () {
        yield* eventually(
          "it is charged",
          Effect.map(figures(accountId), ({ charged }) => charged === 2),
        )
        const charges = (yield* statement(accountId)).filter(({ kind }) => kind === "charge")
        assert.deepStrictEqual(
          charges.map((entry) => entry.requestId),
          [requestId],
        )
        const again = { ...claim, requestId: newRequest() }
        assert.strictEqual(yield* (yield* Receipts).claim(again), "the answer")
        assert.deepStrictEqual(yield* problemsOf(accountId), [])
      }).pipe(Effect.provide(direct))
    }),
  )
})

describe("a network that swallows everything", () => {
  it.scopedLive("fails what waits for it, and nothing once it is back", () =>
    Effect.gen(function* () {
      const { context, proxy } = yield* behindProxy
      yield* Effect.gen(function* () {
        const account = yield* newAccountWith(10)
        proxy.setSilent(true)
        const exits = yield* Effect.all(
          [Effect.exit(charge(account, 1)), Effect.exit(figures(account))],
          { concurrency: "unbounded" },
        )
        for (const exit of exits) assert.match(saidOf(exit), unreachable)
        proxy.setSilent(false)
        yield* charge(account, 1)
        assert.strictEqual((yield* figures(account)).charged, 1)
        assert.deepStrictEqual(yield* problemsOf(account), [])
      }).pipe(Effect.provide(context))
    }),
  )
})

describe("a statement that takes too long", () => {
  it.scopedLive("is ended by the server, and said to be slow", () =>
    Effect.gen(function* () {
      const { direct } = yield* behindProxy
      const sql = yield* Effect.provide(SqlClient.SqlClient, direct)
      const limit = yield* sql.withTransaction(sql`SHOW statement_timeout`)
      assert.deepStrictEqual(limit, [{ statementTimeout: "10s" }])
      const error = yield* sql`SET LOCAL statement_timeout = '1ms'`.pipe(
        Effect.zipRight(sql`SELECT pg_sleep(60)`),
        sql.withTransaction,
        Effect.flip,
      )
      assert.match(saidBy(Cause.die(Failure.describe(error))), /^the database is too slow/)
    }),
  )
})
