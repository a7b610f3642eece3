import { assert, describe, layer } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import type { AccountId } from "../src/Account.ts"
import { CreditLedger } from "../src/CreditLedger.ts"
import { type Hold, HoldExpired } from "../src/ledger/Hold.ts"
import { type Claim, KeyReused, Receipts, retentionMs, StillInFlight } from "../src/Receipts.ts"
import { newAccount, newAccountWith } from "./support/accounts.ts"
import { credits, expire, figures, hold, newRequest, problemsOf } from "./support/ledger.ts"
import { lease, type Ports, stores } from "./support/Stores.ts"

const atOnce = { concurrency: "unbounded" } as const

/** One more request of the account with the same key and, unless told, the same question. */
const request = (accountId: AccountId, key = "key", fingerprint = "question"): Claim => ({
  accountId,
  key,
  fingerprint,
  requestId: newRequest(),
})

const claim = (claim: Claim) => Effect.flatMap(Receipts, (receipts) => receipts.claim(claim))

const keep = (claim: Claim, body: string) =>
  Effect.flatMap(Receipts, (receipts) => receipts.keep({ claim, body }))

const release = (claim: Claim) => Effect.flatMap(Receipts, (receipts) => receipts.release(claim))

/** The request has the key for itself. */
const claimed = (request: Claim) =>
  Effect.map(claim(request), (answer) => assert.isUndefined(answer))

/** A charge of the whole hold, along with its receipt. */
const settleWith = (held: Hold, claim: Claim, body: string) =>
  Effect.flatMap(CreditLedger, (ledger) =>
    ledger.settle(held, { amount: held.amount, urls: 1 }, { claim, body }),
  )

const newAccountId = Effect.map(newAccount, ({ id }) => id)

const day = Duration.millis(retentionMs)
const aMomentLess = (duration: Duration.DurationInput) =>
  Duration.subtract(Duration.decode(duration), "1 millis")

const suite = (name: string, store: Layer.Layer<Ports, unknown>) =>
  layer(store)(`Receipts in ${name}`, (it) => {
    describe("a key that is new", () => {
      it.effect("belongs to the request that claims it", () =>
        Effect.gen(function* () {
          yield* claimed(request(yield* newAccountId))
        }),
      )

      it.effect("of one account is nothing to another", () =>
        Effect.gen(function* () {
          const [one, other] = [yield* newAccountId, yield* newAccountId]
          const first = request(one)
          yield* claimed(first)
          yield* keep(first, "mine")
          yield* claimed(request(other))
          assert.instanceOf(yield* Effect.flip(claim(request(other))), StillInFlight)
          assert.strictEqual(yield* claim(request(one)), "mine")
        }),
      )

      it.effect("is not the same as one in other letters, or with a blank", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          for (const key of ["key", "KEY", "key ", "k\u0000ey".slice(0, 1)]) {
            yield* claimed(request(account, key))
          }
        }),
      )

      it.effect("claimed twenty times at once is had by exactly one", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          const outcomes = yield* Effect.forEach(
            Array(20).keys(),
            () => Effect.either(claim(request(account))),
            atOnce,
          )
          const winners = outcomes.filter(Either.isRight)
          assert.deepStrictEqual(
            winners.map(({ right }) => right),
            [undefined],
          )
          for (const loser of outcomes.filter(Either.isLeft)) {
            assert.instanceOf(loser.left, StillInFlight)
          }
        }),
      )
    })

    describe("a request that is in flight", () => {
      it.effect("keeps others with its key waiting", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          yield* claimed(request(account))
          assert.instanceOf(yield* Effect.flip(claim(request(account))), StillInFlight)
        }),
      )

      it.effect("is told from another question with its key", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          yield* claimed(request(account))
          const other = request(account, "key", "another question")
          assert.instanceOf(yield* Effect.flip(claim(other)), KeyReused)
        }),
      )

      it.effect("gives its key up when it comes to nothing", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          const first = request(account)
          yield* claimed(first)
          yield* release(first)
          yield* claimed(request(account, "key", "another question"))
        }),
      )

      it.effect("cannot give up a key that another request has", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          yield* claimed(request(account))
          yield* release(request(account))
          assert.instanceOf(yield* Effect.flip(claim(request(account))), StillInFlight)
        }),
      )

      it.effect("loses its key to the next one when its lease is over, and not before", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          const [first, second] = [request(account), request(account)]
          yield* claimed(first)
          yield* TestClock.adjust(aMomentLess(lease))
          assert.instanceOf(yield* Effect.flip(claim(second)), StillInFlight)
          yield* TestClock.adjust("1 millis")
          yield* claimed(second)

          yield* keep(first, "too late")
          yield* release(first)
          assert.instanceOf(yield* Effect.flip(claim(request(account))), StillInFlight)
          yield* keep(second, "in time")
          assert.strictEqual(yield* claim(request(account)), "in time")
        }),
      )

      it.effect("that is gone is taken over once, however many want to", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          yield* claimed(request(account))
          yield* TestClock.adjust(lease)
          const outcomes = yield* Effect.forEach(
            Array(20).keys(),
            () => Effect.either(claim(request(account))),
            atOnce,
          )
          assert.strictEqual(outcomes.filter(Either.isRight).length, 1)
        }),
      )
    })

    describe("an answer", () => {
      it.effect("comes back to each request with its key, byte for byte", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          const body = JSON.stringify({ text: "ä \u{1F600} \\ \" ' \n", number: 1e21 })
          const first = request(account)
          yield* claimed(first)
          yield* keep(first, body)
          assert.strictEqual(yield* claim(request(account)), body)
          assert.strictEqual(yield* claim(request(account)), body)
        }),
      )

      it.effect("is for its own question only", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          const first = request(account)
          yield* claimed(first)
          yield* keep(first, "answer")
          const other = request(account, "key", "another question")
          assert.instanceOf(yield* Effect.flip(claim(other)), KeyReused)
        }),
      )

      it.effect("stays when its request is given up after it was kept", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          const first = request(account)
          yield* claimed(first)
          yield* keep(first, "answer")
          yield* release(first)
          assert.strictEqual(yield* claim(request(account)), "answer")
        }),
      )

      it.effect("is there for a day, and then the key is as new", () =>
        Effect.gen(function* () {
          const account = yield* newAccountId
          const first = request(account)
          yield* claimed(first)
          yield* keep(first, "answer")
          yield* TestClock.adjust(aMomentLess(day))
          assert.strictEqual(yield* claim(request(account)), "answer")
          yield* TestClock.adjust("1 millis")
          yield* claimed(request(account, "key", "another question"))
        }),
      )

      it.effect("that is over is forgotten by the sweep, and nothing else is", () =>
        Effect.gen(function* () {
          const receipts = yield* Receipts
          yield* TestClock.adjust(day)
          yield* receipts.expire
          const account = yield* newAccountId
          const [gone, answered] = [request(account, "gone"), request(account, "answered")]
          yield* claimed(gone)
          yield* claimed(answered)
          yield* keep(answered, "answer")
          assert.strictEqual(yield* receipts.expire, 0)
          yield* TestClock.adjust(lease)
          assert.strictEqual(yield* receipts.expire, 1)
          assert.strictEqual(yield* claim(request(account, "answered")), "answer")
          yield* TestClock.adjust(aMomentLess(day))
          assert.strictEqual(yield* receipts.expire, 1)
          assert.strictEqual(yield* receipts.expire, 0)
        }),
      )

      it.effect("of thousands of requests is forgotten as well, whoever sweeps beside", () =>
        Effect.gen(function* () {
          const receipts = yield* Receipts
          yield* TestClock.adjust(day)
          yield* receipts.expire
          const account = yield* newAccountId
          const keys = Array.from({ length: 2500 }, (_, i) => `key ${i}`)
          yield* Effect.forEach(keys, (key) => claimed(request(account, key)), { concurrency: 20 })
          yield* TestClock.adjust(lease)
          const counts = yield* Effect.all([receipts.expire, receipts.expire], atOnce)
          assert.strictEqual(
            counts.reduce((sum, count) => sum + count, 0),
            keys.length,
          )
        }),
      )

      it.effect.prop(
        "survives any key and any text",
        { key: fc.stringMatching(/^[ -~]{1,255}$/), body: fc.json() },
        ({ body, key }) =>
          Effect.gen(function* () {
            const account = yield* newAccountId
            const first = request(account, key)
            yield* claimed(first)
            yield* keep(first, body)
            assert.strictEqual(yield* claim(request(account, key)), body)
          }),
        { fastCheck: { numRuns: 20 } },
      )
    })

    describe("a charge and its receipt", () => {
      it.effect("come about together", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const first = request(account)
          yield* claimed(first)
          yield* settleWith(yield* hold(account, 4), first, "answer")
          assert.strictEqual((yield* figures(account)).charged, 4)
          assert.strictEqual(yield* claim(request(account)), "answer")
        }),
      )

      it.effect("are for each of many at once its own", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(100)
          const keys = Array.from({ length: 40 }, (_, i) => `key ${i}`)
          yield* Effect.forEach(
            keys,
            (key) =>
              Effect.gen(function* () {
                const first = request(account, key)
                yield* claimed(first)
                yield* settleWith(yield* hold(account, 2), first, `answer to ${key}`)
              }),
            atOnce,
          )
          for (const key of keys) {
            assert.strictEqual(yield* claim(request(account, key)), `answer to ${key}`)
          }
          assert.strictEqual((yield* figures(account)).charged, 80)
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }),
      )

      it.effect("are both nothing when the hold has ended", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const held = yield* hold(account, 4)
          yield* TestClock.adjust(lease)
          yield* expire
          const first = request(account)
          yield* claimed(first)
          assert.instanceOf(yield* Effect.flip(settleWith(held, first, "answer")), HoldExpired)
          assert.strictEqual((yield* figures(account)).available, 10)
          assert.instanceOf(yield* Effect.flip(claim(request(account))), StillInFlight)
        }),
      )

      it.effect("are both nothing when the charge is refused", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const first = request(account)
          yield* claimed(first)
          const held = yield* hold(account, 4)
          const tooMuch = yield* Effect.flatMap(CreditLedger, (ledger) =>
            ledger.settle(held, { amount: credits(5), urls: 5 }, { claim: first, body: "answer" }),
          ).pipe(Effect.exit)
          assert.isTrue(Exit.isFailure(tooMuch))
          assert.strictEqual((yield* figures(account)).charged, 0)
          assert.instanceOf(yield* Effect.flip(claim(request(account))), StillInFlight)
        }),
      )

      it.effect("are both nothing when the key has passed to another request meanwhile", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const [late, next] = [request(account), request(account)]
          yield* claimed(late)
          yield* TestClock.adjust(aMomentLess(lease))
          // The claim is the older one, so it ends before the hold does.
          const held = yield* hold(account, 4)
          yield* TestClock.adjust("1 millis")
          yield* claimed(next)
          assert.instanceOf(yield* Effect.flip(settleWith(held, late, "late")), HoldExpired)
          assert.deepInclude(yield* figures(account), { charged: 0, held: 0, available: 10 })
          yield* settleWith(yield* hold(account, 4), next, "next")
          assert.strictEqual(yield* claim(request(account)), "next")
          assert.strictEqual((yield* figures(account)).charged, 4)
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }),
      )

      it.effect("are both nothing when the key was given up, and no neighbour is harmed", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const [gone, neighbour] = [request(account, "gone"), request(account, "neighbour")]
          yield* claimed(gone)
          yield* claimed(neighbour)
          const [held, other] = [yield* hold(account, 3), yield* hold(account, 4)]
          yield* release(gone)
          const [refused, settled] = yield* Effect.all(
            [
              Effect.exit(settleWith(held, gone, "gone")),
              Effect.exit(settleWith(other, neighbour, "neighbour")),
            ],
            atOnce,
          )
          assert.isTrue(Exit.isFailure(refused))
          assert.isTrue(Exit.isSuccess(settled))
          assert.deepInclude(yield* figures(account), { charged: 4, held: 0 })
          yield* claimed(request(account, "gone"))
        }),
      )
    })
  })

for (const [name, store] of stores) suite(name, store)
