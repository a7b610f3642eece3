/** Requests with idempotency keys, over every store of the ledger. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type { AccountId } from "../../src/Account.ts"
import { CreditLedger } from "../../src/CreditLedger.ts"
import * as Balance from "../../src/ledger/Balance.ts"
import { Books } from "../../src/ledger/Books.ts"
import { type Hold, HoldExpired, InsufficientCredits } from "../../src/ledger/Hold.ts"
import {
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  retentionMs,
} from "../../src/ledger/IdempotencyKey.ts"
import * as SqlCreditLedger from "../../src/sql/CreditLedger.ts"
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
  statement,
} from "../../scripts/support/ledger.ts"
import { lease, type Ports, sqlStores, stores } from "../support/Stores.ts"

const atOnce = { concurrency: "unbounded" } as const

/** Makes a request with the same key and, by default, the same fingerprint. */
const request = (
  account: AccountId,
  { amount = 1, fingerprint = "question", key = "key" } = {},
): Hold => newHold(account, amount, { key, fingerprint })

/** Opens the hold of a request, which must get its idempotency key. */
const opened = (hold: Hold) =>
  Effect.map(open(hold), (answer) => {
    assert.isUndefined(answer)
    return hold
  })

const anAccount = newAccountWith(100)

const day = Duration.millis(retentionMs)
const aMomentLess = (duration: Duration.DurationInput) =>
  Duration.subtract(Duration.decode(duration), "1 millis")

const suite = (name: string, store: Layer.Layer<Ports, unknown>) =>
  layer(store)(`idempotency keys in ${name}`, (it) => {
    describe("a new idempotency key", () => {
      it.effect("an idempotency key of one account does not affect another account", () =>
        Effect.gen(function* () {
          const [one, other] = [yield* anAccount, yield* anAccount]
          yield* settle(yield* opened(request(one)), 1, "mine")
          yield* opened(request(other))
          assert.instanceOf(yield* Effect.flip(open(request(other))), IdempotencyKeyInUse)
          assert.strictEqual(yield* open(request(one)), "mine")
        }),
      )

      it.effect(
        "idempotency keys that differ in letter case or a trailing space are different keys",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            for (const key of ["key", "KEY", "key ", "k"]) yield* opened(request(account, { key }))
          }),
      )

      it.effect(
        "only one of twenty concurrent requests with the same idempotency key opens a hold",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            const outcomes = yield* Effect.forEach(
              Array(20).keys(),
              () => Effect.either(open(request(account))),
              atOnce,
            )
            assert.deepStrictEqual(
              outcomes.filter(Either.isRight).map(({ right }) => right),
              [undefined],
            )
            for (const loser of outcomes.filter(Either.isLeft)) {
              assert.instanceOf(loser.left, IdempotencyKeyInUse)
            }
            assert.strictEqual((yield* figures(account)).held, 1)
          }),
      )

      it.effect(
        "twenty concurrent charges with one idempotency key charge once, and all get the same answer",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            const answers = yield* Effect.forEach(
              Array(20).keys(),
              (i) => chargeAtOnce(request(account), 1, `answer ${i}`),
              atOnce,
            )
            assert.deepStrictEqual(answers, [undefined, ...Array(19).fill("answer 0")])
            assert.deepInclude(yield* figures(account), { charged: 1, held: 0 })
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }),
      )

      it.effect("a request that the account cannot pay for does not take its idempotency key", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(1)
          const tooMuch = { amount: 2, fingerprint: "too much" }
          for (const refused of [
            open(request(account, tooMuch)),
            chargeAtOnce(request(account, tooMuch), 2, "never"),
          ]) {
            assert.instanceOf(yield* Effect.flip(refused), InsufficientCredits)
          }
          yield* opened(request(account))
        }),
      )
    })

    describe("a request that is in flight", () => {
      it.effect(
        "while a request is in flight, a repeat with its idempotency key fails with IdempotencyKeyInUse, and a different request with that key fails with IdempotencyKeyReused",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            yield* opened(request(account))
            const another = { fingerprint: "another question" }
            for (const ask of [open, (hold: Hold) => chargeAtOnce(hold, 1, "answer")]) {
              assert.instanceOf(yield* Effect.flip(ask(request(account))), IdempotencyKeyInUse)
              const error = yield* Effect.flip(ask(request(account, another)))
              assert.instanceOf(error, IdempotencyKeyReused)
            }
            assert.strictEqual((yield* figures(account)).held, 1)
          }),
      )

      it.effect(
        "opening the hold of a request twice holds the credits once and takes one idempotency key",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            const first = yield* opened(request(account, { amount: 5 }))
            yield* opened(first)
            assert.strictEqual((yield* figures(account)).held, 5)
            yield* settle(first, 5, "answer")
            assert.strictEqual(yield* open(first), "answer")
            assert.deepInclude(yield* figures(account), { charged: 5, held: 0 })
          }),
      )

      it.effect(
        "an idempotency key can be taken over only after the lease of its request has ended",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            const [first, second] = [request(account), request(account)]
            yield* opened(first)
            yield* TestClock.adjust(aMomentLess(lease))
            assert.instanceOf(yield* Effect.flip(open(second)), IdempotencyKeyInUse)
            yield* TestClock.adjust("1 millis")
            yield* opened(second)

            // No sweep has run, so the old hold is still open, but it cannot be settled any more.
            assert.instanceOf(yield* Effect.flip(settle(first, 1, "too late")), HoldExpired)
            yield* release(first)
            assert.deepInclude(yield* figures(account), { charged: 0, held: 1 })
            assert.instanceOf(yield* Effect.flip(open(request(account))), IdempotencyKeyInUse)
            yield* settle(second, 1, "in time")
            assert.strictEqual(yield* open(request(account)), "in time")
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }),
      )

      it.effect(
        "only one of twenty concurrent requests takes over an idempotency key whose lease has ended",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            yield* opened(request(account))
            yield* TestClock.adjust(lease)
            const outcomes = yield* Effect.forEach(
              Array(20).keys(),
              () => Effect.either(open(request(account))),
              atOnce,
            )
            assert.strictEqual(outcomes.filter(Either.isRight).length, 1)
          }),
      )
    })

    describe("a request that is released", () => {
      it.effect(
        "releasing the hold of a request returns its credits and frees its idempotency key",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            const first = yield* opened(request(account, { amount: 7 }))
            yield* release(first)
            assert.deepInclude(yield* figures(account), { charged: 0, held: 0 })
            yield* opened(request(account, { fingerprint: "another question" }))
            assert.instanceOf(yield* Effect.flip(settle(first, 7, "too late")), HoldExpired)
          }),
      )

      it.effect("releasing the hold of a request that is already charged changes nothing", () =>
        Effect.gen(function* () {
          const account = yield* anAccount
          const first = yield* opened(request(account))
          yield* settle(first, 1, "answer")
          const before = yield* figures(account)
          yield* release(first)
          assert.deepStrictEqual(yield* figures(account), before)
          assert.strictEqual(yield* open(request(account)), "answer")
        }),
      )

      it.effect(
        "releasing the hold of a request does not free an idempotency key that belongs to another request",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            yield* opened(request(account))
            yield* release(request(account))
            assert.instanceOf(yield* Effect.flip(open(request(account))), IdempotencyKeyInUse)
          }),
      )

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

    describe("a stored answer", () => {
      const stored = (account: AccountId, answer: string, key = "key") =>
        chargeAtOnce(request(account, { key }), 1, answer)

      it.effect(
        "a stored answer is returned byte for byte to each repeat with the same idempotency key",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            const answer = JSON.stringify({ text: "ä \u{1F600} \\ \" ' \n", number: 1e21 })
            yield* settle(yield* opened(request(account)), 1, answer)
            assert.strictEqual(yield* open(request(account)), answer)
            assert.strictEqual(yield* stored(account, "another"), answer)
          }),
      )

      it.effect("a stored answer is returned to an account without credits, at no cost", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(1)
          yield* stored(account, "answer")
          assert.strictEqual((yield* figures(account)).available, 0)
          assert.strictEqual(yield* open(request(account)), "answer")
          assert.strictEqual(yield* stored(account, "another"), "answer")
          const another = request(account, { fingerprint: "another question" })
          assert.instanceOf(yield* Effect.flip(open(another)), IdempotencyKeyReused)
          assert.deepInclude(yield* figures(account), { charged: 1, held: 0 })
        }),
      )

      it.effect(
        "an answer is stored under its idempotency key even if the request cost no credits",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            yield* chargeAtOnce(request(account, { key: "known" }), 0, "nothing known")
            yield* settle(yield* opened(request(account, { key: "bought" })), 0, "nothing bought")
            assert.strictEqual(yield* open(request(account, { key: "known" })), "nothing known")
            assert.strictEqual(yield* open(request(account, { key: "bought" })), "nothing bought")
            assert.deepInclude(yield* figures(account), { charged: 0, held: 0 })
            assert.strictEqual((yield* statement(account)).length, 1)
          }),
      )

      it.effect(
        "a stored answer is kept for a day, and then its idempotency key can be used again",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            yield* stored(account, "answer")
            yield* TestClock.adjust(aMomentLess(day))
            assert.strictEqual(yield* open(request(account)), "answer")
            yield* TestClock.adjust("1 millis")
            yield* opened(request(account, { fingerprint: "another question" }))
          }),
      )

      it.effect("a sweep that ends an abandoned hold keeps other requests' stored answers", () =>
        Effect.gen(function* () {
          const account = yield* anAccount
          yield* opened(request(account, { key: "gone" }))
          yield* stored(account, "answer", "answered")
          yield* TestClock.adjust(lease)
          yield* expire
          assert.strictEqual((yield* figures(account)).held, 0)
          assert.strictEqual(yield* open(request(account, { key: "answered" })), "answer")
          yield* opened(request(account, { key: "gone" }))
        }),
      )

      it.effect.prop(
        "any idempotency key and any answer text can be stored and read",
        { key: fc.stringMatching(/^[ -~]{1,255}$/), answer: fc.json() },
        ({ answer, key }) =>
          Effect.gen(function* () {
            const account = yield* anAccount
            yield* stored(account, answer, key)
            assert.strictEqual(yield* open(request(account, { key })), answer)
          }),
        { fastCheck: { numRuns: 20 } },
      )
    })

    describe("a charge and its answer", () => {
      it.effect(
        "each of many concurrent charges stores the answer for its own idempotency key",
        () =>
          Effect.gen(function* () {
            const account = yield* anAccount
            const keys = Array.from({ length: 40 }, (_, i) => `key ${i}`)
            const charges = (key: string, i: number) =>
              i % 2 === 0
                ? chargeAtOnce(request(account, { key, amount: 2 }), 2, `answer to ${key}`)
                : Effect.flatMap(opened(request(account, { key, amount: 2 })), (held) =>
                    settle(held, 2, `answer to ${key}`),
                  )
            yield* Effect.forEach(keys, charges, atOnce)
            for (const key of keys) {
              assert.strictEqual(yield* open(request(account, { key })), `answer to ${key}`)
            }
            assert.deepInclude(yield* figures(account), { charged: 80, held: 0 })
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }),
      )

      it.effect("a charge whose hold has ended charges nothing and stores no answer", () =>
        Effect.gen(function* () {
          const account = yield* anAccount
          const first = yield* opened(request(account))
          yield* TestClock.adjust(lease)
          yield* expire
          yield* opened(request(account))
          assert.instanceOf(yield* Effect.flip(settle(first, 1, "answer")), HoldExpired)
          assert.deepInclude(yield* figures(account), { charged: 0, held: 1 })
          assert.instanceOf(yield* Effect.flip(open(request(account))), IdempotencyKeyInUse)
        }),
      )

      it.effect("a charge that exceeds its hold charges nothing and stores no answer", () =>
        Effect.gen(function* () {
          const account = yield* anAccount
          const first = yield* opened(request(account, { amount: 4 }))
          const neighbour = request(account, { key: "neighbour" })
          const [tooMuch, charged] = yield* Effect.all(
            [Effect.exit(settle(first, 5, "answer")), Effect.exit(chargeAtOnce(neighbour, 1, "b"))],
            atOnce,
          )
          assert.isTrue(Exit.isFailure(tooMuch) && Exit.isSuccess(charged))
          assert.deepInclude(yield* figures(account), { charged: 1, held: 4 })
          assert.instanceOf(yield* Effect.flip(open(request(account))), IdempotencyKeyInUse)
        }),
      )
    })
  })

for (const [name, store] of stores) suite(name, store)

for (const [name, store] of sqlStores) {
  layer(store)(`the table of idempotency keys in ${name}`, (it) => {
    const rows = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT key FROM receipts`)

    it.effect("two concurrent sweeps delete all of thousands of expired idempotency keys", () =>
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
        yield* TestClock.adjust(lease)
        yield* expire
        assert.strictEqual((yield* rows).length, 2500)
        yield* TestClock.adjust(day)
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
          // The release of the hold fails, because the balance holds nothing.
          yield* sql`UPDATE balances SET held = 0 WHERE account_id = ${broken}`
          yield* TestClock.adjust(day)
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

    it.effect(
      "the callback API and the Effect API of the SQL ledger charge and replay in the same way",
      () =>
        Effect.gen(function* () {
          const ledger = yield* CreditLedger
          const account = yield* newAccountWith(1)
          const charger = SqlCreditLedger.chargerOf(ledger)
          assert.isUndefined(SqlCreditLedger.chargerOf({ ...ledger }))
          const charge = (answer: string) =>
            Effect.async<Option.Option<string>, unknown>((resume) => {
              const once = { amount: credits(1), urls: 1 }
              charger?.(request(account), once, answer, Number.POSITIVE_INFINITY, resume)
            })
          const answers = yield* Effect.all([charge("first"), charge("second")], atOnce)
          assert.deepStrictEqual(answers, [Option.none(), Option.some("first")])
          const refused = yield* Effect.flip(chargeAtOnce(newHold(account, 1), 1))
          assert.instanceOf(refused, InsufficientCredits)
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
    books.grant(account, credits(granted), null, 0)
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
