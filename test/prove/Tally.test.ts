import { assert, describe, it } from "@effect/vitest"
import { AccountId } from "../../src/Account.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import type { StatementEntry } from "../../src/ledger/LedgerEntry.ts"
import { tally } from "../../src/prove/Tally.ts"
import type { Outcome } from "../../src/prove/Traffic.ts"
import { RequestId } from "../../src/RequestId.ts"

const account = AccountId.make("acme")

const outcome = (isAcknowledged: boolean, ...attempts: ReadonlyArray<string>): Outcome => ({
  account,
  credits: Credits.make(2),
  attempts: attempts.map((id) => RequestId.make(id)),
  isAcknowledged,
  problem: null,
})

const charge = (requestId: string, amount = 2): StatementEntry => ({
  accountId: account,
  sequence: 1,
  kind: "charge",
  amount: Credits.make(amount),
  balanceAfter: Credits.make(0),
  requestId: RequestId.make(requestId),
  urls: amount,
  note: null,
  at: 0,
})

const sound = { requests: 1, acknowledged: 1, unacknowledged: 0, lost: 0, doubled: 0, strange: 0 }

describe("the comparison of requests with the books", () => {
  for (const [name, outcomes, charges, expected] of [
    ["one charge for one of two attempts", [outcome(true, "a", "b")], [charge("b")], sound],
    ["no charge", [outcome(true, "a")], [], { ...sound, lost: 1 }],
    ["a charge below the price", [outcome(true, "a")], [charge("a", 1)], { ...sound, lost: 1 }],
    ["a charge above the price", [outcome(true, "a")], [charge("a", 3)], { ...sound, doubled: 1 }],
    [
      "a charge for each of two attempts",
      [outcome(true, "a", "b")],
      [charge("a"), charge("b")],
      { ...sound, doubled: 1 },
    ],
    [
      "a charge without an answer",
      [outcome(false, "a")],
      [charge("a")],
      { ...sound, acknowledged: 0, unacknowledged: 1 },
    ],
    [
      "a charge of no request",
      [outcome(true, "a")],
      [charge("a"), charge("x")],
      { ...sound, strange: 1 },
    ],
  ] as const) {
    it(`counts ${name}`, () => {
      assert.deepStrictEqual(tally(outcomes, charges), expected)
    })
  }
})
