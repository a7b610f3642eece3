import { assert, describe, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import type { AccountId } from "../src/Account.ts"
import * as Balance from "../src/ledger/Balance.ts"
import { creditsOf } from "../src/ledger/Credits.ts"
import { CreditLedger } from "../src/CreditLedger.ts"
import { type Hold, HoldExpired, InsufficientCredits } from "../src/ledger/Hold.ts"
import { newAccount, newAccountWith } from "../scripts/support/accounts.ts"
import {
  charge,
  chargeAtOnce,
  credits,
  expire,
  figures,
  grant,
  hold,
  newHold,
  newRequest,
  problemsOf,
  release,
  settle,
  statement,
} from "../scripts/support/ledger.ts"
import { lease, type Ports, stores } from "./support/Stores.ts"
import { runs } from "./support/properties.ts"

const atOnce = { concurrency: "unbounded" } as const

/** Ends the open holds of earlier tests, because all tests share one store. */
const endAllHolds = Effect.zipRight(TestClock.adjust(lease), expire)

const suite = (name: string, store: Layer.Layer<Ports, unknown>) =>
  layer(store)(`CreditLedger in ${name}`, (it) => {
    describe("granting", () => {
      it.effect("a grant adds to the available credits and returns the balance", () =>
        Effect.gen(function* () {
          const { id } = yield* newAccount
          assert.strictEqual(Balance.available(yield* grant(id, 100)), 100)
          assert.strictEqual(Balance.available(yield* grant(id, 5)), 105)
          assert.deepStrictEqual(yield* figures(id), {
            granted: 105,
            charged: 0,
            held: 0,
            available: 105,
          })
        }),
      )

      it.effect("a grant to one account does not change another account", () =>
        Effect.gen(function* () {
          const [one, other] = [yield* newAccountWith(10), yield* newAccountWith(20)]
          yield* grant(one, 1)
          assert.strictEqual((yield* figures(other)).available, 20)
        }),
      )

      it.effect(
        "a grant that would raise the sum of an account's grants above 2^53 - 1 fails and changes nothing",
        () =>
          Effect.gen(function* () {
            const account = yield* newAccountWith(Number.MAX_SAFE_INTEGER)
            const [tooMuch, neighbour] = yield* Effect.all(
              [Effect.exit(grant(account, 1)), Effect.exit(hold(account, 7))],
              atOnce,
            )
            assert.isTrue(Exit.isFailure(tooMuch))
            assert.isTrue(Exit.isSuccess(neighbour))
            assert.deepStrictEqual(yield* figures(account), {
              granted: Number.MAX_SAFE_INTEGER,
              charged: 0,
              held: 7,
              available: Number.MAX_SAFE_INTEGER - 7,
            })
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }),
      )
    })

    describe("charging in one commit", () => {
      const request = (accountId: AccountId, held: number, charged: number) =>
        Effect.suspend(() => chargeAtOnce(newHold(accountId, held), charged))

      it.effect(
        "a charge that opens and settles its hold in one commit leaves the same balance and entry as opening and settling a hold in two commits",
        () =>
          Effect.gen(function* () {
            const [atOnce, inTwo] = [yield* newAccountWith(10), yield* newAccountWith(10)]
            yield* request(atOnce, 4, 3)
            yield* settle(yield* hold(inTwo, 4), 3)
            assert.deepStrictEqual(yield* figures(atOnce), yield* figures(inTwo))
            const detail = (account: AccountId) =>
              Effect.map(statement(account), (entries) =>
                entries.map(({ amount, balanceAfter, kind, sequence, urls }) => ({
                  amount,
                  balanceAfter,
                  kind,
                  sequence,
                  urls,
                })),
              )
            assert.deepStrictEqual(yield* detail(atOnce), yield* detail(inTwo))
            assert.deepStrictEqual(yield* problemsOf(atOnce), [])
          }),
      )

      it.effect(
        "a charge that opens and settles its hold in one commit fails if the account has fewer credits than the hold, even if it has enough for the charge",
        () =>
          Effect.gen(function* () {
            const account = yield* newAccountWith(3)
            const error = yield* Effect.flip(request(account, 4, 1))
            assert.strictEqual(error.message, "This request needs 4 credits and the account has 3.")
            assert.strictEqual((yield* statement(account)).length, 1)
            assert.strictEqual((yield* figures(account)).available, 3)
          }),
      )

      it.effect(
        "concurrent charges, with one or two commits for each charge, never charge more credits than the account has",
        () =>
          Effect.gen(function* () {
            const account = yield* newAccountWith(10)
            const exits = yield* Effect.forEach(
              Array.from({ length: 30 }, (_, i) => i),
              (i) => {
                const one: Effect.Effect<unknown, unknown, CreditLedger> =
                  i % 2 === 0 ? request(account, 1, 1) : charge(account, 1)
                return Effect.exit(one)
              },
              atOnce,
            )
            assert.strictEqual(exits.filter(Exit.isSuccess).length, 10)
            assert.deepStrictEqual(yield* figures(account), {
              granted: 10,
              charged: 10,
              held: 0,
              available: 0,
            })
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }),
      )

      it.effect(
        "a charge that opens and settles its hold in one commit fails and changes nothing if the charged credits exceed the hold",
        () =>
          Effect.gen(function* () {
            const account = yield* newAccountWith(10)
            assert.isTrue(Exit.isFailure(yield* Effect.exit(request(account, 1, 2))))
            assert.strictEqual((yield* figures(account)).available, 10)
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }),
      )
    })

    describe("holding", () => {
      it.effect("a hold sets credits aside without charging them", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          yield* hold(account, 4)
          assert.deepStrictEqual(yield* figures(account), {
            granted: 10,
            charged: 0,
            held: 4,
            available: 6,
          })
        }),
      )

      it.effect("a hold of all available credits succeeds", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          yield* hold(account, 10)
          assert.strictEqual((yield* figures(account)).available, 0)
          const error = yield* Effect.flip(hold(account, 1))
          assert.instanceOf(error, InsufficientCredits)
        }),
      )

      it.effect(
        "a hold of more credits than are available fails with an error that contains the required and the available credits",
        () =>
          Effect.gen(function* () {
            const account = yield* newAccountWith(10)
            yield* hold(account, 7)
            const error = yield* Effect.flip(hold(account, 4))
            assert.deepStrictEqual([error.required, error.available], [4, 3])
            assert.strictEqual(error.message, "This request needs 4 credits and the account has 3.")
            assert.strictEqual((yield* figures(account)).held, 7)
          }),
      )

      it.effect("a hold on an account without credits fails", () =>
        Effect.gen(function* () {
          const { id } = yield* newAccount
          const error = yield* Effect.flip(hold(id, 1))
          assert.deepStrictEqual([error.required, error.available], [1, 0])
        }),
      )

      it.effect(
        "only 20 of 40 concurrent holds of 1 credit succeed on an account with 20 credits",
        () =>
          Effect.gen(function* () {
            const account = yield* newAccountWith(20)
            const outcomes = yield* Effect.forEach(
              Array(40).keys(),
              () => Effect.either(hold(account, 1)),
              atOnce,
            )
            assert.strictEqual(outcomes.filter(Either.isRight).length, 20)
            const { available, held } = yield* figures(account)
            assert.deepStrictEqual([held, available], [20, 0])
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }),
      )

      it.effect("each of several concurrent holds takes credits only from its own account", () =>
        Effect.gen(function* () {
          const accounts = yield* Effect.forEach([10, 20, 30], newAccountWith)
          yield* Effect.forEach([...accounts, ...accounts], (id) => hold(id, 5), atOnce)
          const all = yield* Effect.forEach(accounts, figures)
          assert.deepStrictEqual(
            all.map(({ held }) => held),
            [10, 10, 10],
          )
          assert.deepStrictEqual(
            all.map(({ available }) => available),
            [0, 10, 20],
          )
        }),
      )

      it.effect(
        "a hold is opened even if its caller is interrupted, and the holds of other callers are not affected",
        () =>
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
            assert.strictEqual((yield* figures(account)).held, 6)
            yield* TestClock.adjust(lease)
            assert.strictEqual(yield* expire, 3)
            assert.strictEqual((yield* figures(account)).available, 10)
          }),
      )
    })

    describe("settling", () => {
      it.effect(
        "settling a hold charges the given amount and makes the rest of the hold available again",
        () =>
          Effect.gen(function* () {
            const account = yield* newAccountWith(10)
            yield* settle(yield* hold(account, 7), 3)
            assert.deepStrictEqual(yield* figures(account), {
              granted: 10,
              charged: 3,
              held: 0,
              available: 7,
            })
          }),
      )

      it.effect("settling the whole hold charges all of it", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          yield* settle(yield* hold(account, 10), 10)
          assert.deepStrictEqual(yield* figures(account), {
            granted: 10,
            charged: 10,
            held: 0,
            available: 0,
          })
        }),
      )

      it.effect(
        "settling a hold with a charge of 0 makes the whole hold available again and writes no ledger entry",
        () =>
          Effect.gen(function* () {
            const account = yield* newAccountWith(10)
            const before = yield* statement(account)
            yield* settle(yield* hold(account, 7), 0)
            assert.strictEqual((yield* figures(account)).available, 10)
            assert.deepStrictEqual(yield* statement(account), before)
          }),
      )

      it.effect("settling a hold twice charges once", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const held = yield* hold(account, 5)
          yield* settle(held, 5)
          assert.instanceOf(yield* Effect.flip(settle(held, 5)), HoldExpired)
          assert.strictEqual((yield* figures(account)).charged, 5)
        }),
      )

      it.effect("settling a hold many times concurrently charges once", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const held = yield* hold(account, 5)
          const outcomes = yield* Effect.forEach(
            Array(10).keys(),
            () => Effect.either(settle(held, 5)),
            atOnce,
          )
          assert.strictEqual(outcomes.filter(Either.isRight).length, 1)
          assert.strictEqual((yield* figures(account)).charged, 5)
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }),
      )

      it.effect("settling a hold that was never opened charges nothing", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const requestId = newRequest()
          const never: Hold = { accountId: account, amount: credits(5), requestId }
          const error = yield* Effect.flip(settle(never, 5))
          assert.instanceOf(error, HoldExpired)
          assert.strictEqual(error.requestId, requestId)
          assert.strictEqual((yield* figures(account)).available, 10)
        }),
      )

      it.effect(
        "settling a hold with a charge that exceeds the hold fails as a defect, keeps the hold open, and affects no other hold",
        () =>
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
            assert.isTrue(Exit.isSuccess(before))
            assert.isTrue(Exit.isFailure(tooMuch) && tooMuch.cause._tag === "Die")
            assert.isTrue(Exit.isSuccess(after))
            const { charged, held: open } = yield* figures(account)
            assert.deepStrictEqual([charged, open], [4, 8])
            assert.deepStrictEqual(yield* problemsOf(account), [])
            yield* settle(held, 5)
            assert.strictEqual((yield* figures(account)).charged, 9)
          }),
      )
    })

    describe("releasing", () => {
      it.effect(
        "releasing a hold twice makes its credits available once and writes no ledger entry",
        () =>
          Effect.gen(function* () {
            const account = yield* newAccountWith(10)
            const held = yield* hold(account, 7)
            yield* hold(account, 1)
            yield* release(held)
            yield* release(held)
            assert.deepInclude(yield* figures(account), { charged: 0, held: 1, available: 9 })
            assert.instanceOf(yield* Effect.flip(settle(held, 7)), HoldExpired)
            assert.strictEqual((yield* statement(account)).length, 1)
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }),
      )

      it.effect("releasing a hold that is already settled changes nothing", () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const held = yield* hold(account, 7)
          yield* settle(held, 3)
          yield* release(held)
          assert.deepInclude(yield* figures(account), { charged: 3, held: 0, available: 7 })
        }),
      )
    })

    describe("a hold that is never settled", () => {
      it.effect("a hold that is never settled keeps its credits until its lease ends", () =>
        Effect.gen(function* () {
          yield* endAllHolds
          const account = yield* newAccountWith(10)
          yield* hold(account, 4)
          yield* TestClock.adjust(Duration.millis(Duration.toMillis(lease) - 1))
          assert.strictEqual(yield* expire, 0)
          assert.strictEqual((yield* figures(account)).available, 6)
          yield* TestClock.adjust("1 millis")
          assert.strictEqual(yield* expire, 1)
          assert.strictEqual((yield* figures(account)).available, 10)
          assert.strictEqual(yield* expire, 0)
        }),
      )

      it.effect(
        "the expiry of a hold writes no ledger entry, and the expired hold cannot be settled",
        () =>
          Effect.gen(function* () {
            const account = yield* newAccountWith(10)
            const held = yield* hold(account, 4)
            yield* endAllHolds
            const error = yield* Effect.flip(settle(held, 4))
            assert.instanceOf(error, HoldExpired)
            assert.strictEqual(error.requestId, held.requestId)
            assert.deepStrictEqual(yield* figures(account), {
              granted: 10,
              charged: 0,
              held: 0,
              available: 10,
            })
            assert.strictEqual((yield* statement(account)).length, 1)
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }),
      )

      it.effect("a hold expires without affecting settled holds and newer holds", () =>
        Effect.gen(function* () {
          yield* endAllHolds
          const account = yield* newAccountWith(10)
          const settled = yield* hold(account, 1)
          yield* hold(account, 2)
          yield* settle(settled, 1)
          yield* TestClock.adjust("1 second")
          yield* hold(account, 4)
          yield* TestClock.adjust(Duration.subtract(Duration.decode(lease), "1 second"))
          assert.strictEqual(yield* expire, 1)
          const { charged, held } = yield* figures(account)
          assert.deepStrictEqual([charged, held], [1, 4])
        }),
      )

      it.effect(
        "an expired hold returns its credits once, even if several sweeps run concurrently",
        () =>
          Effect.gen(function* () {
            yield* endAllHolds
            const account = yield* newAccountWith(10)
            yield* Effect.all([hold(account, 1), hold(account, 2)])
            yield* TestClock.adjust(lease)
            const counts = yield* Effect.all([expire, expire, expire], atOnce)
            assert.strictEqual(
              counts.reduce((sum, count) => sum + count, 0),
              2,
            )
            assert.strictEqual((yield* figures(account)).available, 10)
            assert.deepStrictEqual(yield* problemsOf(account), [])
          }),
      )
    })

    it.effect(
      "the ledger's totals are the held credits of all accounts and, for each given amount, the number of accounts with fewer available credits",
      () =>
        Effect.gen(function* () {
          yield* endAllHolds
          const { totals } = yield* CreditLedger
          const amounts = [1, 6, 11].map((amount) => creditsOf(amount))
          const before = yield* totals(amounts)
          assert.strictEqual(before.held, 0)
          const account = yield* newAccountWith(10)
          yield* hold(account, 4)
          yield* hold(account, 1)
          const { accountsBelow, held } = yield* totals(amounts)
          assert.strictEqual(held, 5)
          assert.deepStrictEqual(
            accountsBelow.map((count, i) => count - (before.accountsBelow[i] ?? 0)),
            [0, 1, 1],
          )
        }),
    )

    describe("the statement", () => {
      it.effect(
        "the statement has every grant and charge, oldest first, and the balance after each entry",
        () =>
          Effect.gen(function* () {
            const { id: accountId } = yield* newAccount
            yield* TestClock.adjust("1 second")
            const granted = yield* Clock.currentTimeMillis
            yield* grant(accountId, 100, "invoice 7")
            const held = yield* hold(accountId, 5)
            yield* TestClock.adjust("1 second")
            yield* settle(held, 3)
            const entries = yield* statement(accountId)
            assert.deepStrictEqual(
              entries.map((entry) => ({ ...entry, hash: "" })),
              [
                {
                  accountId,
                  sequence: 1,
                  kind: "grant",
                  amount: credits(100),
                  balanceAfter: credits(100),
                  requestId: null,
                  urls: null,
                  note: "invoice 7",
                  at: granted,
                  hash: "",
                },
                {
                  accountId,
                  sequence: 2,
                  kind: "charge",
                  amount: credits(3),
                  balanceAfter: credits(97),
                  requestId: held.requestId,
                  urls: 3,
                  note: null,
                  at: granted + 1000,
                  hash: "",
                },
              ],
            )
            assert.strictEqual(new Set(entries.map(({ hash }) => hash)).size, 2)
          }),
      )

      it.effect("the statement of a period includes its start and excludes its end", () =>
        Effect.gen(function* () {
          const { id } = yield* newAccount
          const start = yield* Clock.currentTimeMillis
          for (const amount of [1, 2, 3]) {
            yield* grant(id, amount)
            yield* TestClock.adjust("1 second")
          }
          const amounts = (period: { since?: number; until?: number }) =>
            Effect.map(statement(id, period), (entries) =>
              entries.map(({ amount }) => Number(amount)),
            )
          assert.deepStrictEqual(yield* amounts({}), [1, 2, 3])
          assert.deepStrictEqual(yield* amounts({ since: start + 1000 }), [2, 3])
          assert.deepStrictEqual(yield* amounts({ until: start + 1000 }), [1])
          assert.deepStrictEqual(yield* amounts({ since: start + 1000, until: start + 2000 }), [2])
          assert.deepStrictEqual(yield* amounts({ since: start + 2001 }), [])
          assert.deepStrictEqual(yield* amounts({ since: start + 1, until: start + 1 }), [])
        }),
      )

      it.effect("the statement of an account without entries is empty", () =>
        Effect.gen(function* () {
          const { id } = yield* newAccount
          assert.deepStrictEqual(yield* statement(id), [])
        }),
      )
    })

    describe("verifying the books", () => {
      it.effect("verifying the ledger returns the number of verified accounts and entries", () =>
        Effect.gen(function* () {
          const ledger = yield* CreditLedger
          const before = yield* ledger.verify
          const account = yield* newAccountWith(10)
          yield* charge(account, 2)
          yield* hold(account, 3)
          const after = yield* ledger.verify
          assert.strictEqual(after.accounts - before.accounts, 1)
          assert.strictEqual(after.entries - before.entries, 2)
          assert.deepStrictEqual(after.problems, [])
        }),
      )
    })

    it.effect.prop(
      "any sequence of concurrent ledger commands leaves the balance that a simple model predicts",
      { steps: fc.array(step, { minLength: 1, maxLength: 8 }) },
      ({ steps }) =>
        Effect.gen(function* () {
          yield* endAllHolds
          const { id } = yield* newAccount
          const model = new Model(id)
          for (const step of steps) {
            yield* step.kind === "together"
              ? together(model, step.commands)
              : lapse(model, step.settles, step.sweepFirst)
            const { available, charged, granted, held } = yield* figures(id)
            assert.deepStrictEqual(
              { granted, charged, held },
              { granted: model.granted, charged: model.charged, held: model.held },
            )
            assert.isAtLeast(available, 0)
          }
          const entries = yield* statement(id)
          assert.deepStrictEqual(
            entries.map(({ amount, kind }) => `${kind} ${amount}`),
            model.entries,
          )
          assert.deepStrictEqual(yield* problemsOf(id), [])
        }),
      { fastCheck: { numRuns: runs(7) } },
    )

    it.effect("a statement of thousands of entries is complete and in order", () =>
      Effect.gen(function* () {
        const { id } = yield* newAccount
        const amounts = Array.from({ length: 2500 }, (_, i) => 1 + (i % 7))
        yield* Effect.forEach(amounts, (amount) => grant(id, amount), atOnce)
        const entries = yield* statement(id)
        assert.deepStrictEqual(
          entries.map(({ sequence }) => sequence),
          amounts.map((_, i) => i + 1),
        )
        assert.deepStrictEqual(
          entries.map(({ amount }) => Number(amount)),
          amounts,
        )
        assert.deepStrictEqual(yield* problemsOf(id), [])
      }),
    )
  })

/** `of` selects one of all holds so far. `share` is the charged part of the hold, from 0 to 1. */
type Settle = { readonly kind: "settle"; readonly of: number; readonly share: number }
type Grant = { readonly kind: "grant"; readonly amount: number }
type TakeHold = { readonly kind: "hold"; readonly amount: number }
type Command = Grant | TakeHold | Settle

const amount = (max: number) => fc.integer({ min: 1, max })
const settles: fc.Arbitrary<Settle> = fc.record({
  kind: fc.constant("settle" as const),
  of: fc.nat(1000),
  share: fc.constantFrom(0, 0.5, 1),
})
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constant("grant" as const), amount: amount(50) }),
  fc.record({ kind: fc.constant("hold" as const), amount: amount(40) }),
  fc.record({ kind: fc.constant("hold" as const), amount: amount(5) }),
  { weight: 2, arbitrary: settles },
)
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("together" as const),
      commands: fc.array(command, { minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("lapse" as const),
      settles: fc.array(settles, { maxLength: 4 }),
      sweepFirst: fc.boolean(),
    }),
  },
)

/** A simple model of one account, with the expected balance and entries. */
class Model {
  readonly account: AccountId
  granted = 0
  charged = 0
  readonly entries: Array<string> = []
  readonly everHeld: Array<Hold> = []
  readonly open = new Set<Hold>()

  constructor(account: AccountId) {
    this.account = account
  }

  get held() {
    return [...this.open].reduce((sum, { amount }) => sum + amount, 0)
  }

  get available() {
    return this.granted - this.charged - this.held
  }

  add(kind: "grant" | "charge", amount: number) {
    if (kind === "grant") this.granted += amount
    else this.charged += amount
    if (amount > 0) this.entries.push(`${kind} ${amount}`)
  }
}

/** Runs a command. Returns a function that checks the outcome and updates the model. */
const run = (command: Command, model: Model) =>
  command.kind === "grant"
    ? Effect.as(grant(model.account, command.amount), () => model.add("grant", command.amount))
    : command.kind === "hold"
      ? runHold(command.amount, model)
      : runSettle(command, model)

const runHold = (amount: number, model: Model) =>
  Effect.map(Effect.either(hold(model.account, amount)), (outcome) => () => {
    assert.strictEqual(Either.isRight(outcome), amount <= model.available)
    if (Either.isRight(outcome)) {
      model.everHeld.push(outcome.right)
      model.open.add(outcome.right)
    } else {
      const { available, required } = outcome.left
      assert.deepStrictEqual([required, available], [amount, model.available])
    }
  })

const runSettle = ({ of, share }: Settle, model: Model) => {
  const held = model.everHeld[of % model.everHeld.length]
  if (held === undefined) return Effect.succeed(() => {})
  const amount = Math.floor(held.amount * share)
  return Effect.map(Effect.either(settle(held, amount)), (outcome) => (lateness?: "late") => {
    const wasOpen = model.open.has(held)
    if (Either.isRight(outcome)) {
      assert.isTrue(wasOpen, "a hold that had ended was settled")
      model.open.delete(held)
      model.add("charge", amount)
    } else if (lateness === undefined) {
      assert.isFalse(wasOpen, "an open hold was not settled")
    }
  })
}

/** Runs commands concurrently. The ledger must apply them in the order of submission. */
const together = (model: Model, commands: ReadonlyArray<Command>) =>
  Effect.map(
    Effect.forEach(commands, (command) => run(command, model), atOnce),
    (checks) => {
      for (const check of checks) check()
    },
  )

/** Ends all leases. Each hold is then either settled late or expired, never both. */
const lapse = (model: Model, settles: ReadonlyArray<Settle>, sweepFirst: boolean) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(lease)
    const late = Effect.forEach(settles, (command) => runSettle(command, model), atOnce)
    const [swept, checks] = yield* sweepFirst
      ? Effect.all([expire, late], atOnce)
      : Effect.map(
          Effect.all([late, expire], atOnce),
          ([checks, swept]) => [swept, checks] as const,
        )
    for (const check of checks) check("late")
    assert.strictEqual(swept, model.open.size)
    model.open.clear()
  })

for (const [name, store] of stores) suite(name, store)
