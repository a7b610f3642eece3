/** Tests of the statement. */
import assert from "node:assert/strict"
import * as Effect from "effect/Effect"
import { CreditLedger } from "../../../src/ledger/CreditLedger.ts"
import { elapse, expectSound, newAccount, type Test } from "./Bench.ts"
import { grant, hold, settle, statement } from "../../../scripts/support/ledgerCalls.ts"

export const tests: ReadonlyArray<Test> = [
  [
    "the statement has every grant and charge, oldest first, and the balance after each entry",
    Effect.gen(function* () {
      const accountId = yield* newAccount
      yield* grant(accountId, 100, "invoice 7")
      const held = yield* hold(accountId, 5)
      yield* elapse("1 second")
      yield* settle(held, 3)
      const entries = yield* statement(accountId)
      const [granted = NaN, charged = NaN] = entries.map(({ at }) => at)
      assert.ok(charged - granted >= 1000, "the entries have the times of their commits")
      const unknown = { apiKeyId: null, heldAt: null }
      assert.deepEqual(
        entries.map((entry) => ({ ...unknown, ...entry, at: 0, hash: "" })),
        [
          {
            accountId,
            sequence: 1,
            kind: "grant",
            amount: 100,
            balanceAfter: 100,
            requestId: null,
            urls: null,
            note: "invoice 7",
            at: 0,
            hash: "",
            ...unknown,
          },
          {
            accountId,
            sequence: 2,
            kind: "charge",
            amount: 3,
            balanceAfter: 97,
            requestId: held.requestId,
            urls: 3,
            note: null,
            at: 0,
            hash: "",
            ...unknown,
          },
        ],
      )
    }),
  ],
  [
    "the recent entries are pages of the statement, newest first",
    Effect.gen(function* () {
      const { recent } = yield* CreditLedger
      const account = yield* newAccount
      for (let amount = 1; amount <= 5; amount++) yield* grant(account, amount)
      const all = [...(yield* statement(account))].reverse()
      assert.deepEqual(yield* recent(account, { limit: 100 }), all)
      assert.deepEqual(yield* recent(account, { limit: 2 }), all.slice(0, 2))
      assert.deepEqual(yield* recent(account, { limit: 2, before: 4 }), all.slice(2, 4))
      assert.deepEqual(yield* recent(account, { limit: 2, before: 1 }), [])
    }),
  ],
  [
    "the statement of a period includes its start and excludes its end",
    Effect.gen(function* () {
      const account = yield* newAccount
      for (const amount of [1, 2, 3]) {
        yield* grant(account, amount)
        yield* elapse("1 second")
      }
      const [one = NaN, two = NaN, three = NaN] = (yield* statement(account)).map(({ at }) => at)
      const amounts = (period: { since?: number; until?: number }) =>
        Effect.map(statement(account, period), (entries) =>
          entries.map(({ amount }) => Number(amount)),
        )
      assert.deepEqual(yield* amounts({}), [1, 2, 3])
      assert.deepEqual(yield* amounts({ since: two }), [2, 3])
      assert.deepEqual(yield* amounts({ until: two }), [1])
      assert.deepEqual(yield* amounts({ since: two, until: three }), [2])
      assert.deepEqual(yield* amounts({ since: three + 1 }), [])
      assert.deepEqual(yield* amounts({ since: one + 1, until: one + 1 }), [])
    }),
  ],
  [
    "the statement of an account without entries is empty",
    Effect.gen(function* () {
      assert.deepEqual(yield* statement(yield* newAccount), [])
    }),
  ],
  [
    "a statement of thousands of entries is complete and in order",
    Effect.gen(function* () {
      const account = yield* newAccount
      const amounts = Array.from({ length: 2500 }, (_, i) => 1 + (i % 7))
      yield* Effect.forEach(amounts, (amount) => grant(account, amount), { concurrency: 100 })
      const entries = yield* statement(account)
      assert.deepEqual(
        entries.map(({ sequence }) => sequence),
        amounts.map((_, i) => i + 1),
      )
      let balance = 0
      for (const { amount, balanceAfter, sequence } of entries) {
        balance += amount
        assert.equal(Number(balanceAfter), balance, `the balance after entry ${sequence}`)
      }
      assert.equal(
        balance,
        amounts.reduce((sum, amount) => sum + amount, 0),
      )
      yield* expectSound(account)
    }),
  ],
]
