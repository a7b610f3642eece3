/** Tests the ledger when the network to PostgreSQL fails, mostly during a COMMIT. */
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { Accounts } from "../../src/accounts/Account.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { IdempotencyKeyInUse } from "../../src/ledger/Hold.ts"
import { MetricsCache } from "../../src/providers/figures/MetricsCache.ts"
import { Rankings } from "../../src/providers/dataset/Rankings.ts"
import * as Failure from "../../src/database/Failure.ts"
import * as SqlMetricsCache from "../../src/providers/figures/SqlMetricsCache.ts"
import * as SqlRankings from "../../src/providers/dataset/SqlRankings.ts"
import { ReconnectLimit } from "../../src/database/retry.ts"
import { StoreTimeout } from "../../src/ledger/StoreTimeout.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import {
  charge,
  endLeases,
  chargeAtOnce,
  expire,
  figures,
  grant,
  hold,
  newHold,
  open,
  problemsOf,
  release,
  settle,
  statement,
} from "../../scripts/support/ledger.ts"
import { storeFailureMessage } from "../support/load.ts"
import * as Proxy from "../../scripts/support/Proxy.ts"
import { postgresDatabase, temporaryDatabase } from "../support/Stores.ts"
import { eventually } from "../support/eventually.ts"

/**
 * The stores behind a proxy, with a short timeout for a silent server, and the same database
 * without the proxy.
 */
const behindProxy = Effect.gen(function* () {
  const database = yield* temporaryDatabase
  const proxy = yield* Proxy.make(database)
  const direct = yield* Layer.build(postgresDatabase(database))
  const context = yield* Layer.build(
    Layer.provideMerge(
      Layer.merge(SqlMetricsCache.layer, SqlRankings.layer),
      postgresDatabase(proxy.url, { silenceMs: 500 }),
    ),
  )
  return { proxy, direct, context }
})

const failureOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) ? storeFailureMessage(exit.cause) : "nothing failed"

const unreachable = /^the database cannot be reached/

const undecided = Exit.fail(new StoreTimeout({ mayCharge: true }))

const fates: ReadonlyArray<Proxy.Fate> = ["answer lost", "request lost", "silence"]

describe.each(fates)("a failed COMMIT: %s", (fate) => {
  it.scopedLive(
    "when the network fails during a COMMIT, the transaction is applied exactly once",
    () =>
      Effect.gen(function* () {
        const { context, proxy } = yield* behindProxy
        yield* Effect.gen(function* () {
          const account = yield* newAccountWith(100)
          const doomed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
            Effect.zipRight(
              Effect.sync(() => proxy.doom(fate)),
              Effect.tap(effect, () => assert.isTrue(proxy.isFulfilled())),
            )
          const request = newHold(account, 5)

          yield* doomed(grant(account, 11))
          yield* doomed(chargeAtOnce(request, 2))
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

  it.scopedLive(
    "when the network fails during the COMMIT that opens a hold, the request owns its idempotency key until the hold is released",
    () =>
      Effect.gen(function* () {
        const { context, proxy } = yield* behindProxy
        yield* Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const key = { key: "once", fingerprint: "one" }
          const first = newHold(account, 3, key)
          proxy.doom(fate)
          assert.isUndefined(yield* open(first))
          assert.isTrue(proxy.isFulfilled())
          const other = yield* Effect.flip(open(newHold(account, 3, key)))
          assert.instanceOf(other, IdempotencyKeyInUse)
          proxy.doom(fate)
          yield* release(first)
          assert.isTrue(proxy.isFulfilled())
          assert.isUndefined(yield* open(newHold(account, 4, key)))
          assert.deepInclude(yield* figures(account), { charged: 0, held: 4 })
        }).pipe(Effect.provide(context))
      }),
  )

  it.scopedLive(
    "an answer that costs no credits is stored once even if the network fails during its COMMIT",
    () =>
      Effect.gen(function* () {
        const { context, proxy } = yield* behindProxy
        yield* Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const key = { key: "once", fingerprint: "one" }
          proxy.doom(fate)
          // Undefined: no earlier answer was stored under this key.
          assert.isUndefined(yield* chargeAtOnce(newHold(account, 3, key), 0, "the answer"))
          assert.isTrue(proxy.isFulfilled())
          assert.strictEqual(yield* open(newHold(account, 3, key)), "the answer")
          assert.deepInclude(yield* figures(account), { charged: 0, held: 0 })
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }).pipe(Effect.provide(context))
      }),
  )
})

describe("a charge whose result stays unknown", () => {
  it.scopedLive(
    "when PostgreSQL's reply to the COMMIT of a charge is lost, the account statement lists the charge, and a repeat of the request gets the stored answer",
    () =>
      Effect.gen(function* () {
        const { context, direct, proxy } = yield* behindProxy
        const accountId = yield* Effect.provide(newAccountWith(10), context)
        const key = { key: "once", fingerprint: "one" }
        const held = newHold(accountId, 3, key)
        const exit = yield* Effect.gen(function* () {
          yield* open(held)
          proxy.doom("answer lost")
          const settling = yield* Effect.fork(Effect.exit(settle(held, 2, "the answer")))
          yield* eventually("the COMMIT is sent", proxy.isFulfilled)
          proxy.setDown(true)
          return yield* settling
        }).pipe(Effect.provide(context))
        assert.deepStrictEqual(exit, undecided)

        yield* Effect.gen(function* () {
          yield* eventually(
            "the account is charged",
            Effect.map(figures(accountId), ({ charged }) => charged === 2),
          )
          const charges = (yield* statement(accountId)).filter(({ kind }) => kind === "charge")
          assert.deepStrictEqual(
            charges.map((entry) => entry.requestId),
            [held.requestId],
          )
          assert.strictEqual(yield* open(newHold(accountId, 3, key)), "the answer")
          assert.deepStrictEqual(yield* problemsOf(accountId), [])
        }).pipe(Effect.provide(direct))
      }),
  )
})

describe("a network that goes down for a while", () => {
  it.scopedLive(
    "a short network outage delays database reads and writes but fails none of them",
    () =>
      Effect.gen(function* () {
        const { context, proxy } = yield* Effect.provideService(behindProxy, ReconnectLimit, {
          limit: Duration.minutes(1),
        })
        const account = yield* Effect.provide(newAccountWith(10), context)
        const { key } = yield* Context.get(context, ApiKeys).issue({ account })
        const { record: budgeted } = yield* Context.get(context, ApiKeys).issue({
          account,
          budget: { credits: Credits.make(5), period: "day" },
        })
        const { budgets, usage } = Context.get(context, CreditLedger)
        proxy.setDown(true)
        const metrics = { domainAuthority: 1, pageAuthority: 2 }
        const page = "example.com/"
        const asked = yield* Effect.all(
          {
            key: Context.get(context, ApiKeys).authenticate(key),
            figures: figures(account),
            accounts: Context.get(context, Accounts).list,
            charge: charge(account, 1),
            budgets: budgets([budgeted.id]),
            usage: usage({ by: "day", account }),
            ranks: Context.get(context, Rankings).ranks(["example.com"]),
            known: Context.get(context, MetricsCache).get("moz", ["example.org/"], 0),
            put: Context.get(context, MetricsCache).put([
              { provider: "moz", page, metrics, fetchedAt: 1, index: undefined, of: undefined },
            ]),
          },
          { concurrency: "unbounded" },
        ).pipe(Effect.provide(context), Effect.fork)
        yield* Effect.sleep("2 seconds")
        proxy.setDown(false)
        const answers = yield* Fiber.join(asked)
        assert.strictEqual(answers.key.accountId, account)
        assert.strictEqual(answers.figures.granted, 10)
        assert.lengthOf(answers.accounts, 1)
        assert.strictEqual((yield* Effect.provide(figures(account), context)).charged, 1)
        assert.strictEqual(answers.budgets.size, 1)
        assert.isArray(answers.usage)
        assert.lengthOf(yield* Context.get(context, MetricsCache).get("moz", [page], 0), 1)
      }),
  )
})

describe("a network that drops every packet", () => {
  it.scopedLive(
    "database calls fail while the network drops every packet, and succeed again once the network works",
    () =>
      Effect.gen(function* () {
        const { context, proxy } = yield* behindProxy
        yield* Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          proxy.setSilent(true)
          const exits = yield* Effect.all(
            [Effect.exit(charge(account, 1)), Effect.exit(figures(account))],
            { concurrency: "unbounded" },
          )
          for (const exit of exits) assert.match(failureOf(exit), unreachable)
          proxy.setSilent(false)
          yield* charge(account, 1)
          assert.strictEqual((yield* figures(account)).charged, 1)
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }).pipe(Effect.provide(context))
      }),
  )
})

describe("a statement that takes too long", () => {
  it.scopedLive(
    "PostgreSQL ends a slow statement, and the error says that the database is too slow",
    () =>
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
        assert.match(
          storeFailureMessage(Cause.die(Failure.describe(error))),
          /^the database is too slow/,
        )
      }),
  )
})

describe.each(["answer lost", "request lost"] as const)(
  "when the network goes down during a COMMIT: %s",
  (fate) => {
    const key = { key: "once", fingerprint: "one" }

    /** Runs an effect and takes the network down at its COMMIT. */
    const cutOff = <A, E, R>(proxy: Proxy.Proxy, effect: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        proxy.doom(fate, { last: true })
        return yield* Effect.exit(effect)
      })

    it.scopedLive(
      "when the network goes down during the COMMIT that opens a hold, its credits and idempotency key are free again once the network is back",
      () =>
        Effect.gen(function* () {
          const { context, proxy } = yield* behindProxy
          yield* Effect.gen(function* () {
            const account = yield* newAccountWith(10)
            assert.deepStrictEqual(
              yield* cutOff(proxy, open(newHold(account, 3, key))),
              Exit.fail(new StoreTimeout({ mayCharge: false })),
            )
            proxy.setDown(false)
            yield* endLeases
            const next = newHold(account, 4, key)
            yield* eventually(
              "the key is free",
              Effect.flatMap(expire, () => Effect.isSuccess(open(next))),
            )
            assert.deepInclude(yield* figures(account), { charged: 0, held: 4 })
            yield* settle(next, 4)
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }).pipe(Effect.provide(context))
        }),
    )

    it.scopedLive(
      "when the network goes down during the COMMIT that settles a hold, either the charge and the answer are stored, or the hold and the idempotency key are released",
      () =>
        Effect.gen(function* () {
          const { context, proxy } = yield* behindProxy
          yield* Effect.gen(function* () {
            const account = yield* newAccountWith(10)
            const held = newHold(account, 3, key)
            yield* open(held)
            assert.deepStrictEqual(yield* cutOff(proxy, settle(held, 2, "the answer")), undecided)
            yield* release(held)
            proxy.setDown(false)
            yield* endLeases
            const isSettled = fate === "answer lost"
            assert.strictEqual(yield* expire, isSettled ? 0 : 1)
            assert.strictEqual(yield* expire, 0)
            assert.deepInclude(yield* figures(account), { charged: isSettled ? 2 : 0, held: 0 })
            const answer = yield* open(newHold(account, 3, key))
            assert.strictEqual(answer, isSettled ? "the answer" : undefined)
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }).pipe(Effect.provide(context))
        }),
    )
  },
)
