/** Tests of grants, holds and charges. */
import assert from "node:assert/strict"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { CreditLedger } from "../../../src/ledger/CreditLedger.ts"
import { creditsOf } from "../../../src/ledger/Credits.ts"
import {
  atOnce,
  Bench,
  elapse,
  endAllHolds,
  expectFigures,
  expectSound,
  margin,
  newAccount,
  newAccountWith,
  refused,
  type Test,
} from "./Bench.ts"
import {
  charge,
  chargeAtOnce,
  expire,
  figures,
  grant,
  hold,
  newHold,
  release,
  settle,
  statement,
} from "../../../scripts/support/ledgerCalls.ts"

const expectEntries = (account: Parameters<typeof statement>[0], count: number) =>
  Effect.map(statement(account), (entries) =>
    assert.equal(entries.length, count, `the number of entries of account ${account}`),
  )

const expired = "the number of holds that `expire` released"

const expectFailure = (exit: Exit.Exit<unknown, unknown>, what: string) =>
  assert.ok(Exit.isFailure(exit), `the ledger accepted ${what}`)

const granting: ReadonlyArray<Test> = [
  [
    "a grant adds to the available credits and returns the balance",
    Effect.gen(function* () {
      const account = yield* newAccount
      assert.equal(Number((yield* grant(account, 100)).granted), 100, "the balance after a grant")
      assert.equal(Number((yield* grant(account, 5)).granted), 105, "the balance after two grants")
      yield* expectFigures(account, { granted: 105, charged: 0, held: 0, available: 105 })
    }),
  ],
  [
    "a correction takes back credits that are neither charged nor held, and no others",
    Effect.gen(function* () {
      const { correct } = yield* CreditLedger
      const account = yield* newAccountWith(10)
      yield* charge(account, 2)
      yield* hold(account, 3)
      const { available } = yield* refused(
        "CorrectionTooLarge",
        correct(account, creditsOf(6), "typed twice"),
      )
      assert.equal(available, 5, "what a correction may take")
      assert.equal(Number((yield* correct(account, creditsOf(5), "typed twice")).granted), 5)
      yield* expectFigures(account, { granted: 5, charged: 2, held: 3, available: 0 })
      const [, , { amount, kind, note } = {}] = yield* statement(account)
      assert.deepEqual(
        { amount, kind, note },
        { amount: 5, kind: "correction", note: "typed twice" },
      )
      yield* expectSound(account)
    }),
  ],
  [
    "a grant to one account does not change another account",
    Effect.gen(function* () {
      const [one, other] = [yield* newAccountWith(10), yield* newAccountWith(20)]
      yield* grant(one, 1)
      yield* expectFigures(other, { available: 20 })
    }),
  ],
  [
    "a grant that would raise the sum of an account's grants above 2^53 - 1 fails and changes nothing",
    Effect.gen(function* () {
      const most = Number.MAX_SAFE_INTEGER
      const account = yield* newAccountWith(most)
      const [tooMuch, neighbour] = yield* Effect.all(
        [Effect.exit(grant(account, 1)), Effect.exit(hold(account, 7))],
        atOnce,
      )
      expectFailure(tooMuch, "a grant above 2^53 - 1")
      assert.ok(Exit.isSuccess(neighbour), "the ledger refused a hold beside a refused grant")
      yield* expectFigures(account, { granted: most, charged: 0, held: 7, available: most - 7 })
      yield* expectSound(account)
    }),
  ],
]

const charging: ReadonlyArray<Test> = [
  [
    "a charge that opens and settles its hold in one commit leaves the same balance and entry as opening and settling a hold in two commits",
    Effect.gen(function* () {
      const [inOne, inTwo] = [yield* newAccountWith(10), yield* newAccountWith(10)]
      yield* chargeAtOnce(newHold(inOne, 4), 3)
      yield* settle(yield* hold(inTwo, 4), 3)
      assert.deepEqual(yield* figures(inOne), yield* figures(inTwo), "the figures of both accounts")
      const detail = (account: typeof inOne) =>
        Effect.map(statement(account), (entries) =>
          entries.map(({ amount, balanceAfter, kind, sequence, urls }) => ({
            amount,
            balanceAfter,
            kind,
            sequence,
            urls,
          })),
        )
      assert.deepEqual(yield* detail(inOne), yield* detail(inTwo), "the entries of both accounts")
      yield* expectSound(inOne)
    }),
  ],
  [
    "a charge that opens and settles its hold in one commit fails if the account has fewer credits than the hold, even if it has enough for the charge",
    Effect.gen(function* () {
      const account = yield* newAccountWith(3)
      const error = yield* refused("InsufficientCredits", chargeAtOnce(newHold(account, 4), 1))
      assert.equal(error.message, "This request needs 4 credits and the account has 3.")
      yield* expectEntries(account, 1)
      yield* expectFigures(account, { available: 3 })
    }),
  ],
  [
    "concurrent charges, with one or two commits for each charge, never charge more credits than the account has",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      const exits = yield* Effect.forEach(
        Array(30).keys(),
        (i) => {
          const one: Effect.Effect<unknown, unknown, CreditLedger> =
            i % 2 === 0 ? chargeAtOnce(newHold(account, 1), 1) : charge(account, 1)
          return Effect.exit(one)
        },
        atOnce,
      )
      assert.equal(exits.filter(Exit.isSuccess).length, 10, "the number of successful charges")
      yield* expectFigures(account, { granted: 10, charged: 10, held: 0, available: 0 })
      yield* expectSound(account)
    }),
  ],
  [
    "a charge that opens and settles its hold in one commit fails and changes nothing if the charged credits exceed the hold",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      const exit = yield* Effect.exit(chargeAtOnce(newHold(account, 1), 2))
      expectFailure(exit, "a charge above the hold")
      yield* expectFigures(account, { available: 10 })
      yield* expectSound(account)
    }),
  ],
]

const holding: ReadonlyArray<Test> = [
  [
    "a hold sets credits aside without charging them",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      yield* hold(account, 4)
      yield* expectFigures(account, { granted: 10, charged: 0, held: 4, available: 6 })
    }),
  ],
  [
    "a hold of all available credits succeeds, and a further hold fails",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      yield* hold(account, 10)
      yield* expectFigures(account, { available: 0 })
      yield* refused("InsufficientCredits", hold(account, 1))
    }),
  ],
  [
    "a hold of more credits than are available fails with an error that contains the required and the available credits",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      yield* hold(account, 7)
      const error = yield* refused("InsufficientCredits", hold(account, 4))
      assert.deepEqual([error.required, error.available], [4, 3])
      yield* expectFigures(account, { held: 7 })
    }),
  ],
  [
    "a hold on an account without credits fails",
    Effect.gen(function* () {
      const error = yield* refused("InsufficientCredits", hold(yield* newAccount, 1))
      assert.deepEqual([error.required, error.available], [1, 0])
    }),
  ],
  [
    "only 20 of 40 concurrent holds of 1 credit succeed on an account with 20 credits",
    Effect.gen(function* () {
      const account = yield* newAccountWith(20)
      const outcomes = yield* Effect.forEach(
        Array(40).keys(),
        () => Effect.either(hold(account, 1)),
        atOnce,
      )
      assert.equal(outcomes.filter(Either.isRight).length, 20, "the number of opened holds")
      yield* expectFigures(account, { held: 20, available: 0 })
      yield* expectSound(account)
    }),
  ],
  [
    "each of several concurrent holds takes credits only from its own account",
    Effect.gen(function* () {
      const accounts = yield* Effect.forEach([10, 20, 30], newAccountWith)
      yield* Effect.forEach([...accounts, ...accounts], (account) => hold(account, 5), atOnce)
      for (const [i, account] of accounts.entries()) {
        yield* expectFigures(account, { held: 10, available: 10 * i })
      }
    }),
  ],
  [
    "a hold is opened even if its caller is interrupted, and the holds of other callers are not affected",
    Effect.gen(function* () {
      yield* endAllHolds
      const account = yield* newAccountWith(10)
      const [leaving, staying] = [
        yield* Effect.fork(hold(account, 3)),
        yield* Effect.fork(hold(account, 2)),
      ]
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(leaving)
      yield* Fiber.join(staying)
      yield* hold(account, 1)
      yield* expectFigures(account, { held: 6 })
      assert.equal(yield* endAllHolds, 3, expired)
      yield* expectFigures(account, { available: 10 })
    }),
  ],
]

const settling: ReadonlyArray<Test> = [
  [
    "settling a hold charges the given amount and makes the rest of the hold available again",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      yield* settle(yield* hold(account, 7), 3)
      yield* expectFigures(account, { granted: 10, charged: 3, held: 0, available: 7 })
    }),
  ],
  [
    "settling the whole hold charges all of it",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      yield* settle(yield* hold(account, 10), 10)
      yield* expectFigures(account, { granted: 10, charged: 10, held: 0, available: 0 })
    }),
  ],
  [
    "settling a hold with a charge of 0 makes the whole hold available again and writes no ledger entry",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      yield* settle(yield* hold(account, 7), 0)
      yield* expectFigures(account, { available: 10 })
      yield* expectEntries(account, 1)
    }),
  ],
  [
    "settling a hold twice charges once",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      const held = yield* hold(account, 5)
      yield* settle(held, 5)
      yield* refused("HoldExpired", settle(held, 5))
      yield* expectFigures(account, { charged: 5 })
    }),
  ],
  [
    "settling a hold many times concurrently charges once",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      const held = yield* hold(account, 5)
      const outcomes = yield* Effect.forEach(
        Array(10).keys(),
        () => Effect.either(settle(held, 5)),
        atOnce,
      )
      assert.equal(outcomes.filter(Either.isRight).length, 1, "the number of settlements")
      yield* expectFigures(account, { charged: 5 })
      yield* expectSound(account)
    }),
  ],
  [
    "settling and releasing a hold concurrently either charges it or returns it",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      const held = yield* hold(account, 5)
      const calls = [release(held), Effect.either(settle(held, 5)), release(held)]
      yield* Effect.all(calls, atOnce)
      const { available, charged } = yield* figures(account)
      assert.ok(charged === 0 || charged === 5, `the ledger charged ${charged} of a hold of 5`)
      assert.equal(available, 10 - charged, "the available credits")
      yield* expectSound(account)
    }),
  ],
  [
    "a hold is settled and a charge is made even if their caller is interrupted",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      const held = yield* hold(account, 5)
      const leaving = [
        yield* Effect.fork(settle(held, 3)),
        yield* Effect.fork(chargeAtOnce(newHold(account, 2), 1)),
      ]
      yield* Effect.yieldNow()
      yield* Fiber.interruptAll(leaving)
      yield* expectFigures(account, { charged: 4, held: 0, available: 6 })
    }),
  ],
  [
    "settling a hold that was never opened charges nothing",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      yield* refused("HoldExpired", settle(newHold(account, 5), 5))
      yield* expectFigures(account, { available: 10 })
    }),
  ],
  [
    "settling a hold with a charge that exceeds the hold fails as a defect, keeps the hold open, and affects no other hold",
    Effect.gen(function* () {
      const account = yield* newAccountWith(20)
      const held = yield* hold(account, 5)
      const neighbour = yield* hold(account, 4)
      const [before, tooMuch, after] = yield* Effect.all(
        [
          Effect.exit(hold(account, 3)),
          Effect.exit(settle(held, 6)),
          Effect.exit(settle(neighbour, 4)),
        ],
        atOnce,
      )
      const isDefect = Exit.isFailure(tooMuch) && tooMuch.cause._tag === "Die"
      assert.ok(isDefect, "the ledger did not die of a charge above the hold")
      assert.ok(Exit.isSuccess(before) && Exit.isSuccess(after), "another call failed with it")
      yield* expectFigures(account, { charged: 4, held: 8 })
      yield* expectSound(account)
      yield* settle(held, 5)
      yield* expectFigures(account, { charged: 9 })
    }),
  ],
]

const releasing: ReadonlyArray<Test> = [
  [
    "releasing a hold twice makes its credits available once and writes no ledger entry",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      const held = yield* hold(account, 7)
      yield* hold(account, 1)
      yield* release(held)
      yield* release(held)
      yield* expectFigures(account, { charged: 0, held: 1, available: 9 })
      yield* refused("HoldExpired", settle(held, 7))
      yield* expectEntries(account, 1)
      yield* expectSound(account)
    }),
  ],
  [
    "releasing a hold that is already settled changes nothing",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      const held = yield* hold(account, 7)
      yield* settle(held, 3)
      yield* release(held)
      yield* expectFigures(account, { charged: 3, held: 0, available: 7 })
    }),
  ],
]

const expiring: ReadonlyArray<Test> = [
  [
    "a hold that is never settled keeps its credits until its lease ends",
    Effect.gen(function* () {
      yield* endAllHolds
      const { lease } = yield* Bench
      const account = yield* newAccountWith(10)
      yield* hold(account, 4)
      yield* elapse(Duration.subtract(lease, margin))
      assert.equal(yield* expire, 0, expired)
      yield* expectFigures(account, { available: 6 })
      yield* elapse(margin)
      assert.equal(yield* expire, 1, expired)
      yield* expectFigures(account, { available: 10 })
      assert.equal(yield* expire, 0, expired)
    }),
  ],
  [
    "the expiry of a hold writes no ledger entry, and the expired hold cannot be settled",
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      const held = yield* hold(account, 4)
      yield* endAllHolds
      yield* refused("HoldExpired", settle(held, 4))
      yield* expectFigures(account, { granted: 10, charged: 0, held: 0, available: 10 })
      yield* expectEntries(account, 1)
      yield* expectSound(account)
    }),
  ],
  [
    "a hold expires without affecting settled holds and newer holds",
    Effect.gen(function* () {
      yield* endAllHolds
      const { lease } = yield* Bench
      const account = yield* newAccountWith(10)
      const settled = yield* hold(account, 1)
      yield* hold(account, 2)
      yield* settle(settled, 1)
      yield* elapse(margin)
      yield* hold(account, 4)
      yield* elapse(Duration.subtract(lease, margin))
      assert.equal(yield* expire, 1, expired)
      yield* expectFigures(account, { charged: 1, held: 4 })
    }),
  ],
  [
    "an expired hold returns its credits once, even if several sweeps run concurrently",
    Effect.gen(function* () {
      yield* endAllHolds
      const account = yield* newAccountWith(10)
      yield* Effect.all([hold(account, 1), hold(account, 2)])
      yield* elapse((yield* Bench).lease)
      const counts = yield* Effect.all([expire, expire, expire], atOnce)
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        2,
        expired,
      )
      yield* expectFigures(account, { available: 10 })
      yield* expectSound(account)
    }),
  ],
]

const totals: Test = [
  "the ledger's totals are the held credits of all accounts and, for each given amount, the number of accounts with fewer available credits",
  Effect.gen(function* () {
    yield* endAllHolds
    const { totals } = yield* CreditLedger
    const amounts = [1, 5, 6].map((amount) => creditsOf(amount))
    const before = yield* totals(amounts)
    assert.equal(Number(before.held), 0, "the held credits when all holds have ended")
    const account = yield* newAccountWith(10)
    yield* hold(account, 4)
    yield* hold(account, 1)
    const { accountsBelow, held } = yield* totals(amounts)
    assert.equal(Number(held), 5, "the held credits of all accounts")
    assert.deepEqual(
      accountsBelow.map((count, i) => count - (before.accountsBelow[i] ?? 0)),
      [0, 0, 1],
      "how many more accounts have fewer than 1, 5 and 6 credits",
    )
  }),
]

export const tests: ReadonlyArray<Test> = [
  ...granting,
  ...charging,
  ...holding,
  ...settling,
  ...releasing,
  ...expiring,
  totals,
]
