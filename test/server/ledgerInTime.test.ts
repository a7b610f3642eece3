import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { AccountId } from "../../src/accounts/Account.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { within } from "../../src/check/Deadline.ts"
import * as memory from "../support/memory.ts"
import { ledgerInTime } from "../../src/server/Service.ts"
import { credits, newHold } from "../../scripts/support/ledger.ts"

it.effect("each ledger method that a request waits for ends 1.5 s after the deadline", () =>
  Effect.gen(function* () {
    const never = () => Effect.uninterruptible(Effect.never)
    const all = { balance: never, open: never, settle: never, charge: never, budgets: never }
    const ledger = ledgerInTime({ ...(yield* CreditLedger), ...all })
    const account = AccountId.make("acme")
    const hold = newHold(account, 2)
    const methods: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
      ledger.balance(account),
      ledger.open(hold),
      ledger.budgets([]),
      ledger.settle(hold, { amount: credits(0), urls: 0 }),
      ledger.settle(hold, { amount: credits(1), urls: 1 }),
      ledger.charge(hold, { amount: credits(2), urls: 2 }),
    ]
    const asked = yield* Effect.forEach(methods, Effect.flip, { concurrency: "unbounded" }).pipe(
      within(1000),
      Effect.fork,
    )
    yield* TestClock.adjust("2499 millis")
    assert.isNull(asked.unsafePoll())
    yield* TestClock.adjust("1 millis")
    assert.deepStrictEqual(
      (yield* asked).map((error) => Object(error).mayCharge),
      [false, false, false, false, true, true],
    )
  }).pipe(Effect.provide(memory.creditLedger({ lease: "1 minute" }))),
)
