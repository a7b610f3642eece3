/** Tests of the usage report. */
import assert from "node:assert/strict"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import { v7 as uuid } from "uuid"
import type { AccountId } from "../../../src/accounts/Account.ts"
import { ApiKeyId } from "../../../src/accounts/ApiKey.ts"
import { CreditLedger } from "../../../src/ledger/CreditLedger.ts"
import type { Charge, Hold } from "../../../src/ledger/Hold.ts"
import * as Usage from "../../../src/ledger/usage/Usage.ts"
import { noFailures } from "../../../src/check/Metrics.ts"
import {
  atOnce,
  Bench,
  elapse,
  endAllHolds,
  expectSound,
  forAll,
  newAccount,
  newAccountWith,
  refused,
  type Test,
} from "./Bench.ts"
import { credits, newHold, open, release, statement } from "../../../scripts/support/ledgerCalls.ts"

const usage = (question: Usage.Question) =>
  Effect.flatMap(CreditLedger, (ledger) => ledger.usage(question))

/**
 * Selects the account's rows: other tests may have rows of the same day, but not of this account.
 */
const usageOf = (account: AccountId, by: "day" | "key", period: Partial<Usage.Question> = {}) =>
  usage({ ...period, account, by })

const chargeOf = (checks: number, more: Partial<Charge> = {}): Charge => ({
  amount: credits(checks * 3),
  urls: checks,
  ...more,
})

const holdOf = (account: AccountId, apiKeyId: ApiKeyId | undefined, checks = 10): Hold => ({
  ...newHold(account, checks * 3),
  apiKeyId,
})

const chargeAtOnce = (hold: Hold, charge: Charge, answer?: string) =>
  Effect.flatMap(CreditLedger, (ledger) => ledger.charge(hold, charge, answer))

const holdAndSettle = (hold: Hold, charge: Charge) =>
  Effect.flatMap(CreditLedger, (ledger) =>
    Effect.zipRight(ledger.open(hold), ledger.settle(hold, charge)),
  )

const newKey = () => ApiKeyId.make(uuid())

const zero: Usage.Usage = { checks: 0, credits: 0, known: 0, failed: noFailures }

const step = fc.record({
  /** The number of the key that sends the request; the last number stands for no key. */
  key: fc.nat(2),
  checks: fc.nat(5),
  known: fc.nat(5),
  failed: fc.record({
    INVALID_URL: fc.nat(2),
    PROVIDER_ERROR: fc.nat(2),
    SERVER_ERROR: fc.nat(2),
  }),
  isHeld: fc.boolean(),
})
type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

/** The requests of a round run at once. `hours` pass until the next round. */
const round = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 6 }),
  hours: fc.constantFrom(1, 12, 30),
})
type Round = typeof round extends fc.Arbitrary<infer A> ? A : never

const chargedIn = ({ checks, failed, known }: Step) =>
  chargeOf(checks, { known: Math.min(known, checks), failed })

const sumOf = (usages: Iterable<Usage.Usage>) =>
  [...usages].reduce(
    (sum, { checks, credits, failed, known }) => Usage.add(sum, { checks, credits, failed, known }),
    zero,
  )

const plain = ({ checks, credits, failed, known }: Usage.Usage) => ({
  checks,
  credits,
  known,
  failed: { ...failed },
})

const expectSums = (rounds: ReadonlyArray<Round>) =>
  Effect.gen(function* () {
    const account = yield* newAccountWith(100_000)
    const keys = [newKey(), newKey(), undefined]
    const run = (step: Step) =>
      (step.isHeld ? holdAndSettle : chargeAtOnce)(holdOf(account, keys[step.key]), chargedIn(step))
    for (const { hours, steps } of rounds) {
      yield* Effect.forEach(steps, run, atOnce)
      yield* elapse(`${hours} hours`)
    }
    const steps = rounds.flatMap(({ steps }) => steps)
    const byKey = yield* usageOf(account, "key")
    for (const [i, apiKeyId] of keys.entries()) {
      const expected = steps.flatMap((step) =>
        step.key === i ? [Usage.ofCharge(holdOf(account, apiKeyId), chargedIn(step), 0)] : [],
      )
      const rows = byKey.filter((row) => row.apiKeyId === (apiKeyId ?? null))
      assert.equal(rows.length, Math.min(1, expected.length), "one row for each key")
      assert.deepEqual(plain(sumOf(rows)), plain(sumOf(expected)), "the usage of a key")
    }
    const byDay = yield* usageOf(account, "day")
    assert.deepEqual(plain(sumOf(byDay)), plain(sumOf(byKey)), "days and keys add up to the same")
    yield* expectEntries(account, byDay)
    yield* expectSound(account)
  })

/** Checks that the rows by day have the checks and credits of the statement. */
const expectEntries = (account: AccountId, byDay: ReadonlyArray<Usage.Row>) =>
  Effect.gen(function* () {
    const days = new Map<number, { checks: number; credits: number }>()
    for (const { amount, at, kind, urls } of yield* statement(account)) {
      if (kind !== "charge") continue
      const day = days.get(Usage.dayOf(at)) ?? { checks: 0, credits: 0 }
      days.set(Usage.dayOf(at), {
        checks: day.checks + (urls ?? 0),
        credits: day.credits + amount,
      })
    }
    assert.deepEqual(
      byDay.flatMap(({ checks, credits, day }) => (credits > 0 ? [{ day, checks, credits }] : [])),
      Array.from(days, ([day, sums]) => ({ day, ...sums })),
    )
  })

export const tests: ReadonlyArray<Test> = [
  [
    "usage by key and by day is the sum of what the requests were charged, found and failed",
    Effect.flatMap(Bench, ({ runs }) =>
      forAll(fc.array(round, { minLength: 1, maxLength: 6 }), runs, expectSums),
    ),
  ],
  [
    "a request that is refused, released, expired or replayed uses nothing",
    Effect.gen(function* () {
      const account = yield* newAccountWith(30)
      yield* refused(
        "InsufficientCredits",
        chargeAtOnce(holdOf(account, newKey(), 11), chargeOf(1)),
      )
      const released = holdOf(account, newKey())
      yield* open(released)
      yield* release(released)
      yield* open(holdOf(account, newKey()))
      yield* endAllHolds
      assert.deepEqual(yield* usageOf(account, "key"), [])

      const named = { ...holdOf(account, newKey()), idempotencyKey: { key: "k", fingerprint: "f" } }
      yield* chargeAtOnce(named, chargeOf(2), "answer")
      const before = yield* usageOf(account, "key")
      yield* chargeAtOnce({ ...named, requestId: newHold(account, 1).requestId }, chargeOf(2))
      assert.deepEqual(yield* usageOf(account, "key"), before)
      assert.deepEqual(before.map(plain), [{ ...zero, checks: 2, credits: 6 }])
    }),
  ],
  [
    "usage of a period has the whole days that the period touches, and at most the newest of them",
    Effect.gen(function* () {
      const account = yield* newAccountWith(100)
      for (const checks of [1, 2, 3]) {
        yield* chargeAtOnce(holdOf(account, undefined), chargeOf(checks))
        yield* elapse("24 hours")
      }
      const days = yield* usageOf(account, "day")
      const [one = NaN, two = NaN, three = NaN] = days.map(({ day }) => (day ?? NaN) * 86_400_000)
      assert.deepEqual([two - one, three - two], [86_400_000, 86_400_000])
      const checks = (question: Partial<Usage.Question>) =>
        Effect.map(usageOf(account, "day", question), (rows) => rows.map(({ checks }) => checks))
      assert.deepEqual(yield* checks({}), [1, 2, 3])
      assert.deepEqual(yield* checks({ since: two + 5000 }), [2, 3])
      assert.deepEqual(yield* checks({ until: two }), [1])
      assert.deepEqual(yield* checks({ until: two + 1 }), [1, 2])
      assert.deepEqual(yield* checks({ since: two, until: three }), [2])
      assert.deepEqual(yield* checks({ since: three, until: two }), [])
      assert.deepEqual(yield* checks({ limit: 2 }), [2, 3])
    }),
  ],
  [
    "usage over all accounts has a row for each account, or for each key, most credits first",
    Effect.gen(function* () {
      const [little, much] = [yield* newAccountWith(1000), yield* newAccountWith(1000)]
      const [key, other] = [newKey(), newKey()]
      yield* chargeAtOnce(holdOf(little, newKey()), chargeOf(1))
      yield* chargeAtOnce(holdOf(much, key), chargeOf(3))
      yield* chargeAtOnce(holdOf(much, other), chargeOf(4, { known: 4 }))
      const mine = (by: "account" | "key") =>
        Effect.map(usage({ by }), (rows) =>
          rows.filter(({ accountId }) => accountId === little || accountId === much),
        )
      assert.deepEqual(
        (yield* mine("account")).map(({ accountId, checks, credits, known }) => [
          accountId,
          checks,
          credits,
          known,
        ]),
        [
          [much, 7, 21, 4],
          [little, 1, 3, 0],
        ],
      )
      assert.deepEqual(
        (yield* mine("key")).map(({ checks, apiKeyId }) => [apiKeyId, checks]).slice(0, 2),
        [
          [other, 4],
          [key, 3],
        ],
      )
    }),
  ],
  [
    "a key without a budget has used nothing of one",
    Effect.gen(function* () {
      const { budgets } = yield* CreditLedger
      assert.equal((yield* budgets([newKey()])).size, 0)
    }),
  ],
  [
    "an account that was never charged has no usage",
    Effect.gen(function* () {
      assert.deepEqual(yield* usageOf(yield* newAccount, "day"), [])
    }),
  ],
]
