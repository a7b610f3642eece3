/**
 * Tests idempotency keys that share a commit, their rows in the SQL ledger, and their pure rules.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as TestClock from "effect/TestClock"
import type { AccountId } from "../../src/accounts/Account.ts"
import { AuditLog, CurrentAct } from "../../src/accounts/AuditLog.ts"
import * as Balance from "../../src/ledger/Balance.ts"
import { Books } from "../../src/ledger/Books.ts"
import { type Hold, retentionMs } from "../../src/ledger/Hold.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import {
  chargeAtOnce,
  credits,
  expire,
  figures,
  hold,
  newHold,
  open,
  problemsOf,
  release,
  settle,
} from "../../scripts/support/ledger.ts"
import { letOthersRun } from "../../src/ledger/letOthersRun.ts"
import { settable } from "../support/SettableClock.ts"
import { elapse, lease, stores } from "../support/Stores.ts"

const atOnce = { concurrency: "unbounded" } as const

/** Makes a request with the same key and, by default, the same fingerprint. */
const request = (
  account: AccountId,
  { amount = 1, fingerprint = "question", key = "key" } = {},
): Hold => newHold(account, amount, { key, fingerprint })

/**
 * True if the first request with the key has no answer yet, or its lease ended before the charge.
 */
const isOver = (error: unknown) =>
  Predicate.isTagged(error, "IdempotencyKeyInUse") || Predicate.isTagged(error, "HoldExpired")

/** Opens the hold of a request, which must get its idempotency key. */
const opened = (hold: Hold) =>
  Effect.map(open(hold), (answer) => {
    assert.isUndefined(answer)
    return hold
  })

const anAccount = newAccountWith(100)

const day = Duration.millis(retentionMs)

for (const [name, store] of stores) {
  layer(store)(`idempotency keys in ${name}`, (it) => {
    it.effect(
      "an idempotency key that is released in a commit can be taken by another request in the same commit",
      () =>
        Effect.gen(function* () {
          const account = yield* anAccount
          const first = yield* opened(request(account))
          const [, answer] = yield* Effect.all(
            [release(first), chargeAtOnce(request(account), 1, "the second")],
            atOnce,
          )
          assert.isUndefined(answer)
          assert.strictEqual(yield* open(request(account)), "the second")
          assert.deepInclude(yield* figures(account), { charged: 1, held: 0 })
        }),
    )
  })
}

for (const [name, store] of stores) {
  layer(store)(`the idempotency keys of the administration in ${name}`, (it) => {
    it.effect("the idempotency key of an administration request is deleted after a day", () =>
      Effect.gen(function* () {
        const { append, doneUnder } = yield* AuditLog
        const act = { action: "account.create", subject: "acme", detail: {} }
        yield* expire
        yield* Effect.provideService(append(act), CurrentAct, {
          key: "k",
          fingerprint: "f",
          onRepeat: Effect.void,
        })
        yield* TestClock.adjust(Duration.millis(retentionMs - 1))
        yield* expire
        assert.lengthOf(yield* doneUnder("k"), 1)
        yield* TestClock.adjust(1)
        yield* expire
        assert.lengthOf(yield* doneUnder("k"), 0)
      }),
    )
  })

  layer(store)(`a clock that is set during commits in ${name}`, (it) => {
    it.effect(
      "each request is charged once although the clock jumps by an hour, back and forth, during commits",
      () =>
        Effect.gen(function* () {
          const { clock, putBack, putForward } = yield* settable
          const steps = Effect.forEach([putBack, putForward, putForward, putBack], (put) =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => put("1 hour")),
            ),
          ).pipe(Effect.zipRight(letOthersRun), Effect.repeatN(20))
          yield* Effect.gen(function* () {
            const account = yield* newAccountWith(160)
            const paid = (key: string) =>
              Effect.gen(function* () {
                const hold = request(account, { key })
                const answer = yield* open(hold)
                if (answer === undefined) yield* settle(hold, 1, hold.requestId)
                return answer ?? hold.requestId
              }).pipe(Effect.retry({ times: 50, while: isOver }))
            const answers = (key: string) => Effect.all([paid(key), expire, paid(key)], atOnce)
            const keys = Array.from({ length: 40 }, (_, i) => `key ${i}`)
            const [pairs] = yield* Effect.all(
              [Effect.forEach(keys, answers, { concurrency: 16 }), steps],
              atOnce,
            )
            for (const [first, , second] of pairs) assert.strictEqual(first, second)
            assert.deepInclude(yield* figures(account), { charged: 40, held: 0 })
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }).pipe(Effect.withClock(clock))
        }),
    )
  })

  layer(store)(`the table of idempotency keys in ${name}`, (it) => {
    const rows = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT key FROM receipts`)

    it.effect(
      "while the clock is a day ahead for seconds, no stored answer is deleted and no repeat is charged",
      () =>
        Effect.gen(function* () {
          const { adjust, clock, putBack, putForward } = yield* settable
          yield* Effect.gen(function* () {
            const account = yield* anAccount
            yield* chargeAtOnce(request(account), 1, "answer")
            yield* expire
            yield* adjust("10 minutes")
            putForward("25 hours")
            yield* expire
            assert.strictEqual(yield* chargeAtOnce(request(account), 1, "again"), "answer")
            yield* adjust("8 seconds")
            yield* expire
            putBack("25 hours")
            yield* adjust("11 minutes")
            yield* expire
            assert.strictEqual(yield* chargeAtOnce(request(account), 1, "again"), "answer")
            assert.deepInclude(yield* figures(account), { charged: 1 })
            yield* adjust(day)
            yield* expire
            assert.deepStrictEqual(yield* rows, [])
          }).pipe(Effect.withClock(clock))
        }),
    )

    it.effect(
      "no stored answer is deleted while the clock is before the time of the newest one",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const account = yield* anAccount
          yield* chargeAtOnce(request(account, { key: "old" }), 1, "answer")
          yield* chargeAtOnce(request(account, { key: "new" }), 1, "answer")
          yield* sql`UPDATE receipts SET expires_at = expires_at + ${retentionMs + 3_600_000}
          WHERE account_id = ${account} AND receipts.key = 'new'`
          yield* expire
          yield* elapse(day)
          yield* expire
          assert.strictEqual((yield* rows).length, 2)
          yield* TestClock.adjust("1 hour")
          yield* expire
          assert.deepStrictEqual(yield* rows, [{ key: "new" }])
          yield* elapse(day)
          yield* expire
          assert.deepStrictEqual(yield* rows, [])
        }),
    )

    it.effect(
      "two concurrent sweeps together delete thousands of expired idempotency keys and miss none",
      () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(5000)
          const keys = Array.from({ length: 2500 }, (_, i) => `key ${i}`)
          yield* Effect.forEach(
            keys,
            (key) => chargeAtOnce(request(account, { key }), 1, "answer"),
            atOnce,
          )
          yield* opened(request(account, { key: "in flight" }))
          assert.strictEqual((yield* rows).length, 2501)
          yield* expire
          yield* elapse(lease)
          yield* expire
          assert.strictEqual((yield* rows).length, 2500)
          yield* elapse(day)
          yield* Effect.all([expire, expire], atOnce)
          yield* expire
          assert.deepStrictEqual(yield* rows, [])
        }),
    )

    it.effect(
      "expired idempotency keys are deleted even if the release of an expired hold fails",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const [account, broken] = [yield* anAccount, yield* anAccount]
          yield* chargeAtOnce(request(account), 1, "answer")
          yield* hold(broken, 1)
          // The release of the hold fails, because the balance has no held credits.
          yield* sql`UPDATE balances SET held = 0 WHERE account_id = ${broken}`
          yield* expire
          yield* elapse(day)
          assert.isTrue(Exit.isFailure(yield* Effect.exit(expire)))
          assert.deepStrictEqual(yield* rows, [])
        }),
    )

    it.effect(
      "a request without an idempotency key leaves no row in the table of idempotency keys",
      () =>
        Effect.gen(function* () {
          const account = yield* anAccount
          yield* chargeAtOnce(newHold(account, 1), 1, "nobody collects it")
          yield* settle(yield* hold(account, 1), 1, "nobody collects it")
          assert.deepStrictEqual(yield* rows, [])
        }),
    )
  })
}

describe("the rules of idempotency keys", () => {
  const leaseMs = 1000
  const account = newHold("account" as AccountId, 0).accountId
  const amounts = fc.tuple(fc.nat(20), fc.nat(20)).map(([a, b]) => [Math.max(a, b), Math.min(a, b)])

  /** Makes the books of an account with some credits and one earlier request. */
  const booksWith = (granted: number, former: Hold, answer: string | undefined) => {
    const books = new Books(leaseMs)
    books.grant({ accountId: account, amount: credits(granted), note: null, at: 0 })
    books.open(former, 0)
    if (answer !== undefined) books.settle(former, { amount: former.amount, urls: 1 }, answer, 0)
    return books
  }

  const described = (books: Books) => ({
    balance: { ...books.balance(account), head: "" },
    keys: books.writtenKeys,
    entries: books.newEntries.map(({ amount, kind }) => [kind, amount]),
    holds: [...books.openHolds].map(({ requestId }) => requestId),
  })

  it.prop(
    "a charge leaves the same balance and entries as opening and settling a hold",
    {
      amounts,
      granted: fc.integer({ min: 1, max: 40 }),
      before: fc.constantFrom(undefined, "stored"),
      keys: fc.constantFrom(["one", "one"], ["one", "two"]),
      question: fc.constantFrom("question", "another question"),
      now: fc.constantFrom(1, leaseMs - 1, leaseMs, retentionMs - 1, retentionMs),
    },
    ({
      amounts: [held = 0, charged = 0],
      before,
      granted,
      keys: [one = "", two = ""],
      now,
      question,
    }) => {
      const former = newHold(account, 1, { key: one, fingerprint: "question" })
      const latter = newHold(account, held, { key: two, fingerprint: question })
      const charge = { amount: credits(charged), urls: charged }
      const [atOnce, inTwo] = [
        booksWith(granted, former, before),
        booksWith(granted, former, before),
      ]
      const answer = atOnce.charge(latter, charge, "answer", now)
      const opened = inTwo.open(latter, now)
      assert.deepStrictEqual(answer, opened)
      if (Either.isRight(opened) && Option.isNone(opened.right)) {
        assert.isTrue(Either.isRight(inTwo.settle(latter, charge, "answer", now)))
      }
      assert.deepStrictEqual(described(atOnce), described(inTwo))
      assert.isAtLeast(Balance.available(atOnce.balance(account)), 0)
    },
  )

  it.prop(
    "opening and releasing a hold leaves the balance and entries unchanged",
    { held: fc.integer({ min: 1, max: 40 }), granted: fc.integer({ min: 1, max: 40 }) },
    ({ granted, held }) => {
      const former = newHold(account, 1, { key: "one", fingerprint: "question" })
      const latter = newHold(account, held, { key: "two", fingerprint: "question" })
      const books = booksWith(granted, former, "answer")
      const before = described(books)
      books.open(latter, 1)
      books.release(latter)
      assert.deepStrictEqual(described(books), before)
      books.release(former)
      assert.deepStrictEqual(described(books), before)
    },
  )
})
