/** Budgets of API keys in every store: `ApiKeys` sets them, and `CreditLedger` enforces them. */
import { assert, layer } from "@effect/vitest"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import type { AccountId } from "../../src/accounts/Account.ts"
import type { ApiKeyId } from "../../src/accounts/ApiKey.ts"
import { type Change, ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import {
  type Budget,
  BudgetExceeded,
  type Period,
  startOf,
} from "../../src/ledger/budgets/Budget.ts"
import type { Hold } from "../../src/ledger/Hold.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import {
  chargeAtOnce,
  credits,
  expire,
  figures,
  grant,
  newHold,
  open,
  problemsOf,
  release,
  settle,
  statement,
} from "../../scripts/support/ledger.ts"
import { forAll } from "../support/properties.ts"
import { elapse, lease, type Ports, stores } from "../support/Stores.ts"

interface Key {
  readonly account: AccountId
  readonly id: ApiKeyId
}

const budget = (amount: number, period: Period): Budget => ({ credits: credits(amount), period })

/** Sets the clock, which starts at the epoch, to a time. */
const setClock = (time: string) => TestClock.setTime(new Date(time))

const newKey = (amount: number | undefined, period: Period = "day") =>
  Effect.gen(function* () {
    const account = yield* newAccountWith(1_000_000)
    const options = amount === undefined ? {} : { budget: budget(amount, period) }
    const { record } = yield* (yield* ApiKeys).issue({ account, ...options })
    return { account, id: record.id }
  })

const update = (id: ApiKeyId, change: Change) =>
  Effect.flatMap(ApiKeys, (keys) => keys.update(id, change))

const spent = ({ id }: Key) =>
  Effect.gen(function* () {
    const { budgets } = yield* CreditLedger
    const found = (yield* budgets([id])).get(id)
    return found && { ...found, used: Number(found.used), remaining: Number(found.remaining) }
  })

const holdOf = ({ account, id }: Key, amount: number): Hold => ({
  ...newHold(account, amount),
  apiKeyId: id,
})

const hold = (key: Key, amount: number) => {
  const held = holdOf(key, amount)
  return Effect.as(open(held), held)
}

const charge = (key: Key, amount: number) => chargeAtOnce(holdOf(key, amount), amount)

/** Runs an effect that must be refused because of a budget, and returns the error's message. */
const refused = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.instanceOf(error, BudgetExceeded)
    return error
  })

const used = (key: Key) => Effect.map(spent(key), (found) => found?.used)

const suite = (name: string, store: Layer.Layer<Ports | SqlClient.SqlClient, unknown>) =>
  layer(store)(`budgets in ${name}`, (it) => {
    it.effect("a request above a spent budget is refused until the period ends", () =>
      Effect.gen(function* () {
        yield* setClock("2026-11-24T10:00:00Z")
        const key = yield* newKey(10, "month")
        yield* charge(key, 8)
        const error = yield* refused(charge(key, 3))
        assert.isFalse(error.isHeld)
        assert.strictEqual(
          error.message,
          "This request needs 3 credits and the budget of its key has 2 left of 10 a month, resets 2026-12-01.",
        )
        assert.strictEqual((yield* refused(hold(key, 3))).message, error.message)
        yield* charge(key, 2)
        yield* setClock("2026-11-30T23:59:59.999Z")
        yield* refused(charge(key, 1))
        yield* setClock("2026-12-01T00:00:00Z")
        yield* charge(key, 10)
        assert.deepStrictEqual(yield* problemsOf(key.account), [])
      }),
    )

    it.effect(
      "a request that would fit the budget but for running requests is refused as held",
      () =>
        Effect.gen(function* () {
          const key = yield* newKey(10, "total")
          yield* charge(key, 2)
          const running = yield* Effect.forEach([1, 2, 3, 2], (amount) => hold(key, amount))
          const error = yield* refused(hold(key, 3))
          assert.isTrue(error.isHeld)
          assert.strictEqual(
            error.message,
            "This request needs 3 credits and the budget of its key has 0 left of 10 in all: 8 held by 4 running requests.",
          )
          assert.isFalse((yield* refused(hold(key, 9))).isHeld)
          yield* release(running[2] ?? assert.fail())
          yield* hold(key, 3)
          assert.strictEqual(yield* used(key), 10)
        }),
    )

    it.effect(
      "a budget's use is what is charged and held, and settling a hold gives back the rest",
      () =>
        Effect.gen(function* () {
          yield* setClock("2026-11-24T10:00:00Z")
          const key = yield* newKey(10, "day")
          const held = yield* hold(key, 6)
          assert.deepStrictEqual(yield* spent(key), {
            ...budget(10, "day"),
            used: 6,
            remaining: 4,
            resetsAt: Date.parse("2026-11-25T00:00:00Z"),
          })
          yield* settle(held, 1)
          assert.strictEqual(yield* used(key), 1)
          const [, entry] = yield* statement(key.account)
          assert.strictEqual(entry?.apiKeyId, key.id)
          assert.isUndefined(yield* spent(yield* newKey(undefined)))
        }),
    )

    it.effect("a charge counts towards the budget period in which its hold was opened", () =>
      Effect.gen(function* () {
        yield* setClock("2026-11-24T23:59:50Z")
        const key = yield* newKey(10, "day")
        const before = yield* hold(key, 7)
        yield* setClock("2026-11-25T00:00:10Z")
        assert.strictEqual(yield* used(key), 0)
        const after = yield* hold(key, 10)
        yield* settle(before, 5)
        assert.strictEqual(yield* used(key), 10)
        yield* settle(after, 10)
        assert.deepStrictEqual(yield* problemsOf(key.account), [])
        yield* setClock("2026-11-24T23:59:55Z")
        assert.strictEqual(yield* used(key), 5)
      }),
    )

    it.effect("a hold that nobody ends is returned to the budget when its lease ends", () =>
      Effect.gen(function* () {
        yield* setClock("2026-11-24T10:00:00Z")
        const key = yield* newKey(10, "day")
        yield* hold(key, 10)
        yield* elapse(Duration.sum(Duration.decode(lease), "1 second"))
        yield* expire
        assert.strictEqual(yield* used(key), 0)
        yield* hold(key, 10)
      }),
    )

    it.effect("concurrent requests spend a budget to the last credit and never more", () =>
      Effect.gen(function* () {
        const key = yield* newKey(20, "total")
        const outcomes = yield* Effect.forEach(
          Array(60).keys(),
          (i) =>
            Effect.either<unknown, unknown, CreditLedger>(
              i % 2 === 0 ? hold(key, 1) : charge(key, 1),
            ),
          { concurrency: "unbounded" },
        )
        assert.lengthOf(outcomes.filter(Either.isRight), 20)
        assert.strictEqual(yield* used(key), 20)
        assert.deepStrictEqual(yield* problemsOf(key.account), [])
      }),
    )

    it.effect("a changed budget applies from the next commit, and what is used stays used", () =>
      Effect.gen(function* () {
        const key = yield* newKey(10, "total")
        yield* charge(key, 8)
        yield* update(key.id, { budget: budget(5, "total") })
        const error = yield* refused(charge(key, 1))
        assert.include(error.message, "has 0 left of 5")
        assert.strictEqual((yield* spent(key))?.remaining, 0)
        yield* update(key.id, { budget: budget(9, "total") })
        yield* charge(key, 1)
        yield* refused(charge(key, 1))
        yield* update(key.id, { budget: null })
        yield* charge(key, 1000)
        assert.isUndefined(yield* spent(key))
        assert.deepStrictEqual(yield* problemsOf(key.account), [])
      }),
    )

    it.effect("a key's first budget applies from the commit that sets it", () =>
      Effect.gen(function* () {
        yield* setClock("2026-11-24T10:00:00Z")
        const key = yield* newKey(undefined)
        yield* charge(key, 100)
        const held = yield* hold(key, 4)
        yield* update(key.id, { budget: budget(10, "day") })
        assert.strictEqual(yield* used(key), 0)
        const counted = yield* hold(key, 3)
        yield* settle(held, 4)
        assert.strictEqual(yield* used(key), 3)
        yield* settle(counted, 2)
        yield* charge(key, 8)
        yield* refused(charge(key, 1))
        yield* setClock("2026-11-25T00:00:00Z")
        yield* charge(key, 10)
        assert.deepStrictEqual(yield* problemsOf(key.account), [])
      }),
    )

    it.effect("a budget that is changed to another kind of period begins at 0", () =>
      Effect.gen(function* () {
        yield* setClock("2026-11-24T10:00:00Z")
        const key = yield* newKey(10, "day")
        yield* charge(key, 3)
        const held = yield* hold(key, 4)
        yield* update(key.id, { budget: budget(20, "month") })
        assert.strictEqual(yield* used(key), 0)
        yield* settle(held, 4)
        yield* charge(key, 5)
        yield* update(key.id, { budget: budget(20, "total") })
        assert.strictEqual(yield* used(key), 0)
        yield* charge(key, 20)
        yield* setClock("2027-11-24T10:00:00Z")
        yield* refused(charge(key, 1))
      }),
    )

    it.effect("a process whose clock is behind counts towards the first period of a budget", () =>
      Effect.gen(function* () {
        yield* setClock("2026-11-25T00:00:05Z")
        const key = yield* newKey(10, "day")
        yield* setClock("2026-11-24T23:59:55Z")
        yield* charge(key, 6)
        yield* refused(charge(key, 6))
        yield* setClock("2026-11-25T10:00:00Z")
        assert.strictEqual(yield* used(key), 6)
      }),
    )

    it.effect(
      "a hold of a process whose clock is ahead does not count towards a later budget",
      () =>
        Effect.gen(function* () {
          yield* setClock("2026-11-24T10:00:05Z")
          const key = yield* newKey(undefined)
          const held = yield* hold(key, 4)
          yield* setClock("2026-11-24T10:00:00Z")
          yield* update(key.id, { budget: budget(10, "day") })
          yield* charge(key, 3)
          yield* settle(held, 4)
          assert.strictEqual(yield* used(key), 3)
        }),
    )

    it.effect("a rotated key takes over the budget and its use, and both keys spend from it", () =>
      Effect.gen(function* () {
        yield* setClock("2026-11-24T10:00:00Z")
        const old = yield* newKey(10, "day")
        yield* charge(old, 3)
        const { record } = yield* (yield* ApiKeys).rotate(old.id, Duration.hours(1))
        const key = { ...old, id: record.id }
        assert.deepStrictEqual(record.budget, budget(10, "day"))
        yield* charge(key, 4)
        assert.deepStrictEqual([yield* used(old), yield* used(key)], [7, 7])
        yield* refused(charge(old, 4))
        yield* update(key.id, { budget: budget(12, "day") })
        yield* charge(old, 5)
        yield* refused(charge(key, 1))
        yield* update(key.id, { budget: budget(20, "day") })
        assert.deepStrictEqual([yield* used(old), yield* used(key)], [12, 12])
        const held = yield* hold(old, 8)
        yield* update(key.id, { budget: budget(15, "month") })
        yield* settle(held, 8)
        yield* charge(old, 5)
        assert.deepStrictEqual([yield* used(old), yield* used(key)], [5, 5])
        assert.deepStrictEqual(yield* problemsOf(key.account), [])
        yield* update(old.id, { budget: null })
        assert.isUndefined(yield* spent(key))
      }),
    )

    it.effect(
      "an API key is listed with its label and budget, and an unusable key cannot be changed",
      () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const key = yield* newKey(10, "day")
          const change = { label: "importer", budget: budget(7, "total") }
          assert.deepInclude(yield* update(key.id, change), change)
          assert.deepInclude((yield* keys.list(key.account))[0], change)
          assert.deepInclude(yield* update(key.id, { label: null }), { ...change, label: null })
          yield* keys.revoke(key.id)
          const error = yield* Effect.flip(update(key.id, { budget: null }))
          assert.strictEqual(error._tag, "ApiKeyNotFound")
        }),
    )

    it.effect("a correction takes back only credits that are neither charged nor held", () =>
      Effect.gen(function* () {
        const { correct } = yield* CreditLedger
        const account = yield* newAccountWith(100)
        yield* chargeAtOnce(newHold(account, 30), 30)
        yield* open(newHold(account, 20))
        const error = yield* Effect.flip(correct(account, credits(51), "typed 100 for 10"))
        assert.include(error.message, "only 50 credits can be taken away")
        yield* correct(account, credits(50), "typed 100 for 10")
        assert.deepStrictEqual(yield* figures(account), {
          granted: 50,
          charged: 30,
          held: 20,
          available: 0,
        })
        const last = (yield* statement(account)).at(-1)
        assert.deepInclude(last, {
          kind: "correction",
          amount: credits(50),
          balanceAfter: credits(20),
          note: "typed 100 for 10",
        })
        yield* grant(account, 5)
        assert.deepStrictEqual(yield* problemsOf(account), [])
      }),
    )

    it.effect(
      "any sequence of requests, days and changes leaves a budget with the use that a model predicts",
      () =>
        forAll(
          fc.array(step, { minLength: 1, maxLength: 25 }),
          { numRuns: 12 },
          behavesLikeTheModel,
        ),
    )
  })

const step = fc.oneof(
  fc.record({ kind: fc.constant("hold" as const), amount: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ kind: fc.constant("charge" as const), amount: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    kind: fc.constant("end" as const),
    of: fc.nat(50),
    share: fc.constantFrom(0, 0.5, 1),
  }),
  fc.record({ kind: fc.constant("wait" as const), hours: fc.constantFrom(1, 13, 40, 500) }),
  fc.record({
    kind: fc.constant("budget" as const),
    budget: fc.option(
      fc.record({
        credits: fc.integer({ min: 1, max: 20 }).map(credits),
        period: fc.constantFrom("day" as const, "month" as const, "total" as const),
      }),
    ),
  }),
)
type Step = typeof step extends fc.Arbitrary<infer Step> ? Step : never

/** A model of a key's budget: what the key has held and charged, and when. */
class Model {
  budget: Budget | null = null
  charges: Array<{ readonly at: number; readonly amount: number }> = []
  /** All open holds. A hold from before the budget has the time -1. */
  readonly holds = new Map<Hold, number>()

  /** Sets the budget. Another kind of period begins at 0. */
  set(budget: Budget | null) {
    if (budget?.period !== this.budget?.period) {
      this.charges = []
      for (const hold of this.holds.keys()) this.holds.set(hold, -1)
    }
    this.budget = budget
  }

  used(now: number) {
    const start = startOf(this.budget?.period ?? "total", now)
    const charged = this.charges.filter(({ at }) => at >= start)
    const held = [...this.holds].filter(([, at]) => at >= start)
    return (
      charged.reduce((sum, { amount }) => sum + amount, 0) +
      held.reduce((sum, [{ amount }]) => sum + amount, 0)
    )
  }

  hasRoom(amount: number, now: number) {
    return this.budget === null || this.used(now) + amount <= this.budget.credits
  }
}

const take = (key: Key, model: Model, next: Step) =>
  Effect.gen(function* () {
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    switch (next.kind) {
      case "hold": {
        const held = yield* Effect.either(hold(key, next.amount))
        assert.strictEqual(Either.isRight(held), model.hasRoom(next.amount, now))
        if (Either.isRight(held)) model.holds.set(held.right, now)
        return
      }
      case "charge": {
        const charged = yield* Effect.either(charge(key, next.amount))
        assert.strictEqual(Either.isRight(charged), model.hasRoom(next.amount, now))
        if (Either.isRight(charged)) model.charges.push({ at: now, amount: next.amount })
        return
      }
      case "end": {
        const [held, at] = [...model.holds][next.of % Math.max(1, model.holds.size)] ?? []
        if (held === undefined || at === undefined) return
        const amount = Math.floor(held.amount * next.share)
        yield* settle(held, amount)
        model.holds.delete(held)
        if (amount > 0) model.charges.push({ at, amount })
        return
      }
      case "wait":
        return yield* TestClock.adjust(Duration.hours(next.hours))
      case "budget":
        yield* update(key.id, { budget: next.budget })
        model.set(next.budget)
    }
  })

const behavesLikeTheModel = (steps: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    const model = new Model()
    const key = yield* newKey(undefined)
    for (const next of steps) {
      yield* take(key, model, next)
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const use = yield* used(key)
      assert.strictEqual(use, model.budget === null ? undefined : model.used(now))
    }
    assert.deepStrictEqual(yield* problemsOf(key.account), [])
  })

for (const [name, store] of stores) suite(name, store)
