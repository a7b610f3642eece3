/** Tests of idempotency keys and stored answers. */
import assert from "node:assert/strict"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import type { AccountId } from "../../../src/accounts/Account.ts"
import { type Hold, retentionMs } from "../../../src/ledger/Hold.ts"
import { creditsOf } from "../../../src/ledger/Credits.ts"
import {
  atOnce,
  Bench,
  elapse,
  expectFigures,
  expectSound,
  forAll,
  margin,
  newAccountWith,
  refused,
  type Test,
} from "./Bench.ts"
import {
  chargeAtOnce,
  expire,
  figures,
  newHold,
  open,
  release,
  settle,
  statement,
} from "../../../scripts/support/ledgerCalls.ts"

/** Makes a request with the same key and, by default, the same fingerprint. */
const request = (
  account: AccountId,
  { amount = 1, fingerprint = "question", key = "key" } = {},
): Hold => newHold(account, amount, { key, fingerprint })

const another = { fingerprint: "another question" }

/** Opens the hold of a request, which must get its idempotency key. */
const opened = (hold: Hold) =>
  Effect.map(open(hold), (answer) => {
    assert.equal(answer, undefined, "the ledger gave a stored answer to a new request")
    return hold
  })

const expectAnswer = (hold: Hold, expected: string) =>
  Effect.map(open(hold), (answer) => assert.equal(answer, expected, "the stored answer"))

const anAccount = newAccountWith(100)

const untilAlmost = (time: Duration.Duration) => elapse(Duration.subtract(time, margin))

const limits: ReadonlyArray<Test> = [
  [
    "a hold or a charge above its limit is refused, and changes nothing",
    Effect.gen(function* () {
      const account = yield* anAccount
      const limit = creditsOf(4)
      const above = { ...request(account, { amount: 5 }), limit }
      const error = yield* refused("LimitExceeded", open(above))
      assert.equal(error._tag === "LimitExceeded" && error.limit, limit)
      yield* refused("LimitExceeded", chargeAtOnce(above, 5, "answer"))
      yield* expectFigures(account, { available: 100, held: 0 })
      yield* opened({ ...request(account, { amount: 4 }), limit })
      yield* expectFigures(account, { available: 96, held: 4 })
    }),
  ],
  [
    "a stored answer is given whatever the limit is",
    Effect.gen(function* () {
      const account = yield* anAccount
      const first = yield* opened(request(account, { amount: 5 }))
      yield* settle(first, 5, "answer")
      yield* expectAnswer({ ...request(account, { amount: 5 }), limit: creditsOf(1) }, "answer")
    }),
  ],
]

const taking: ReadonlyArray<Test> = [
  [
    "an idempotency key of one account does not affect another account",
    Effect.gen(function* () {
      const [one, other] = [yield* anAccount, yield* anAccount]
      yield* settle(yield* opened(request(one)), 1, "mine")
      yield* opened(request(other))
      yield* refused("IdempotencyKeyInUse", open(request(other)))
      yield* expectAnswer(request(one), "mine")
    }),
  ],
  [
    "idempotency keys that differ in letter case or a trailing space are different keys",
    Effect.gen(function* () {
      const account = yield* anAccount
      for (const key of ["key", "KEY", "key ", "k"]) yield* opened(request(account, { key }))
    }),
  ],
  [
    "only one of twenty concurrent requests with the same idempotency key opens a hold",
    Effect.gen(function* () {
      const account = yield* anAccount
      const outcomes = yield* Effect.forEach(
        Array(20).keys(),
        () => Effect.either(open(request(account))),
        atOnce,
      )
      assert.deepEqual(
        outcomes.filter(Either.isRight).map(({ right }) => right),
        [undefined],
      )
      for (const loser of outcomes.filter(Either.isLeft)) {
        assert.equal(loser.left._tag, "IdempotencyKeyInUse")
      }
      yield* expectFigures(account, { held: 1 })
    }),
  ],
  [
    "twenty concurrent charges with one idempotency key charge once, and all get the same answer",
    Effect.gen(function* () {
      const account = yield* anAccount
      const answers = yield* Effect.forEach(
        Array(20).keys(),
        (i) => chargeAtOnce(request(account), 1, `answer ${i}`),
        atOnce,
      )
      const winner = `answer ${answers.indexOf(undefined)}`
      assert.deepEqual(
        answers.map((answer) => answer ?? winner),
        Array(20).fill(winner),
      )
      const charged = answers.filter((answer) => answer === undefined).length
      assert.equal(charged, 1, "the number of requests that got no stored answer")
      yield* expectFigures(account, { charged: 1, held: 0 })
      yield* expectSound(account)
    }),
  ],
  [
    "a request that the account cannot pay for does not take its idempotency key",
    Effect.gen(function* () {
      const account = yield* newAccountWith(1)
      const tooMuch = { amount: 2, fingerprint: "too much" }
      for (const ask of [open, (hold: Hold) => chargeAtOnce(hold, 2, "never")]) {
        yield* refused("InsufficientCredits", ask(request(account, tooMuch)))
      }
      yield* opened(request(account))
    }),
  ],
]

const inFlight: ReadonlyArray<Test> = [
  [
    "while a request is in flight, a repeat with its idempotency key fails with IdempotencyKeyInUse, and a different request with that key fails with IdempotencyKeyReused",
    Effect.gen(function* () {
      const account = yield* anAccount
      yield* opened(request(account))
      for (const ask of [open, (hold: Hold) => chargeAtOnce(hold, 1, "answer")]) {
        yield* refused("IdempotencyKeyInUse", ask(request(account)))
        yield* refused("IdempotencyKeyReused", ask(request(account, another)))
      }
      yield* expectFigures(account, { held: 1 })
    }),
  ],
  [
    "opening the hold of a request twice holds the credits once and takes one idempotency key",
    Effect.gen(function* () {
      const account = yield* anAccount
      const first = yield* opened(request(account, { amount: 5 }))
      yield* opened(first)
      yield* expectFigures(account, { held: 5 })
      yield* settle(first, 5, "answer")
      yield* expectAnswer(first, "answer")
      yield* expectFigures(account, { charged: 5, held: 0 })
    }),
  ],
  [
    "an idempotency key can be taken over only after the lease of its request has ended",
    Effect.gen(function* () {
      const account = yield* anAccount
      // Each request takes the whole balance, so the second one needs the credits that the first
      // one had.
      const [first, second] = [request(account, { amount: 100 }), request(account, { amount: 100 })]
      yield* opened(first)
      yield* untilAlmost((yield* Bench).lease)
      yield* refused("IdempotencyKeyInUse", open(second))
      yield* elapse(margin)
      yield* opened(second)

      // The lease is over, although no sweep has run.
      yield* refused("HoldExpired", settle(first, 1, "too late"))
      yield* release(first)
      yield* expectFigures(account, { charged: 0, held: 100 })
      yield* refused("IdempotencyKeyInUse", open(request(account)))
      yield* settle(second, 1, "in time")
      yield* expectAnswer(request(account), "in time")
      yield* expectSound(account)
    }),
  ],
  [
    "only one of twenty concurrent requests takes over an idempotency key whose lease has ended",
    Effect.gen(function* () {
      const account = yield* anAccount
      yield* opened(request(account))
      yield* elapse((yield* Bench).lease)
      const outcomes = yield* Effect.forEach(
        Array(20).keys(),
        () => Effect.either(open(request(account))),
        atOnce,
      )
      assert.equal(outcomes.filter(Either.isRight).length, 1, "the number of opened holds")
    }),
  ],
]

const released: ReadonlyArray<Test> = [
  [
    "releasing the hold of a request returns its credits and frees its idempotency key",
    Effect.gen(function* () {
      const account = yield* anAccount
      const first = yield* opened(request(account, { amount: 7 }))
      yield* release(first)
      yield* expectFigures(account, { charged: 0, held: 0 })
      yield* opened(request(account, another))
      yield* refused("HoldExpired", settle(first, 7, "too late"))
    }),
  ],
  [
    "releasing the hold of a request that is already charged changes nothing",
    Effect.gen(function* () {
      const account = yield* anAccount
      const first = yield* opened(request(account))
      yield* settle(first, 1, "answer")
      const before = yield* figures(account)
      yield* release(first)
      yield* expectFigures(account, before)
      yield* expectAnswer(request(account), "answer")
    }),
  ],
  [
    "releasing the hold of a request does not free an idempotency key that belongs to another request",
    Effect.gen(function* () {
      const account = yield* anAccount
      yield* opened(request(account))
      yield* release(request(account))
      yield* refused("IdempotencyKeyInUse", open(request(account)))
    }),
  ],
]

const stored = (account: AccountId, answer: string, key = "key") =>
  chargeAtOnce(request(account, { key }), 1, answer)

const answers: ReadonlyArray<Test> = [
  [
    "a stored answer is returned byte for byte to each repeat with the same idempotency key",
    Effect.gen(function* () {
      const account = yield* anAccount
      const answer = JSON.stringify({ text: "ä \u{1F600} \\ \" ' \n", number: 1e21 })
      yield* settle(yield* opened(request(account)), 1, answer)
      yield* expectAnswer(request(account), answer)
      assert.equal(yield* stored(account, "another"), answer, "the stored answer")
    }),
  ],
  [
    "a stored answer is returned to an account without credits, at no cost",
    Effect.gen(function* () {
      const account = yield* newAccountWith(1)
      yield* stored(account, "answer")
      yield* expectFigures(account, { available: 0 })
      yield* expectAnswer(request(account), "answer")
      assert.equal(yield* stored(account, "another"), "answer", "the stored answer")
      yield* refused("IdempotencyKeyReused", open(request(account, another)))
      yield* expectFigures(account, { charged: 1, held: 0 })
    }),
  ],
  [
    "an answer is stored under its idempotency key even if the request cost no credits",
    Effect.gen(function* () {
      const account = yield* anAccount
      yield* chargeAtOnce(request(account, { key: "known" }), 0, "nothing known")
      yield* settle(yield* opened(request(account, { key: "bought" })), 0, "nothing bought")
      yield* expectAnswer(request(account, { key: "known" }), "nothing known")
      yield* expectAnswer(request(account, { key: "bought" }), "nothing bought")
      yield* expectFigures(account, { charged: 0, held: 0 })
      assert.equal((yield* statement(account)).length, 1, "the number of entries")
    }),
  ],
  [
    "a stored answer is kept for a day, and after the next sweep its key can be used again",
    Effect.gen(function* () {
      const account = yield* anAccount
      yield* stored(account, "answer")
      yield* expire
      yield* untilAlmost(Duration.millis(retentionMs))
      yield* expire
      yield* expectAnswer(request(account), "answer")
      yield* elapse(margin)
      yield* expire
      yield* opened(request(account, another))
    }),
  ],
  [
    "a sweep that ends an abandoned hold keeps other requests' stored answers",
    Effect.gen(function* () {
      const account = yield* anAccount
      yield* opened(request(account, { key: "gone" }))
      yield* stored(account, "answer", "answered")
      yield* elapse((yield* Bench).lease)
      yield* expire
      yield* expectFigures(account, { held: 0 })
      yield* expectAnswer(request(account, { key: "answered" }), "answer")
      yield* opened(request(account, { key: "gone" }))
    }),
  ],
  [
    "any idempotency key and any answer text can be stored and read",
    forAll(fc.tuple(fc.stringMatching(/^[ -~]{1,255}$/), fc.json()), 20, ([key, answer]) =>
      Effect.gen(function* () {
        const account = yield* anAccount
        yield* stored(account, answer, key)
        yield* expectAnswer(request(account, { key }), answer)
      }),
    ),
  ],
]

const chargesWithAnswers: ReadonlyArray<Test> = [
  [
    "each of many concurrent charges stores the answer for its own idempotency key",
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
      for (const key of keys) yield* expectAnswer(request(account, { key }), `answer to ${key}`)
      yield* expectFigures(account, { charged: 80, held: 0 })
      yield* expectSound(account)
    }),
  ],
  [
    "a charge whose hold has ended charges nothing and stores no answer",
    Effect.gen(function* () {
      const account = yield* anAccount
      const first = yield* opened(request(account))
      yield* elapse((yield* Bench).lease)
      yield* expire
      yield* opened(request(account))
      yield* refused("HoldExpired", settle(first, 1, "answer"))
      yield* expectFigures(account, { charged: 0, held: 1 })
      yield* refused("IdempotencyKeyInUse", open(request(account)))
    }),
  ],
  [
    "a charge that exceeds its hold charges nothing and stores no answer",
    Effect.gen(function* () {
      const account = yield* anAccount
      const first = yield* opened(request(account, { amount: 4 }))
      const neighbour = request(account, { key: "neighbour" })
      const [tooMuch, charged] = yield* Effect.all(
        [Effect.exit(settle(first, 5, "answer")), Effect.exit(chargeAtOnce(neighbour, 1, "b"))],
        atOnce,
      )
      assert.ok(Exit.isFailure(tooMuch), "the ledger accepted a charge above the hold")
      assert.ok(Exit.isSuccess(charged), "another charge failed with it")
      yield* expectFigures(account, { charged: 1, held: 4 })
      yield* refused("IdempotencyKeyInUse", open(request(account)))
    }),
  ],
]

export const tests: ReadonlyArray<Test> = [
  ...taking,
  ...inFlight,
  ...released,
  ...answers,
  ...chargesWithAnswers,
  ...limits,
]
