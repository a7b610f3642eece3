import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CreditLedger } from "../ledger/CreditLedger.ts"
import { commitGraceMs, Deadline, waitUntil } from "../check/Deadline.ts"
import { StoreTimeout } from "../ledger/StoreTimeout.ts"

type Ledger = CreditLedger["Type"]

/**
 * Bounds how long a request waits for a ledger of the host: a method that has not ended by itself
 * 1.5 s after the Deadline fails with StoreTimeout, and continues in the background.
 */
export const ledgerInTime = (ledger: Ledger): Ledger => {
  return {
    ...ledger,
    balance: (account) => ended(ledger.balance(account), false),
    open: (hold) =>
      Effect.tapErrorTag(ended(ledger.open(hold), false), "StoreTimeout", () =>
        Effect.forkDaemon(ledger.release(hold)),
      ),
    settle: (hold, charge, answer) => ended(ledger.settle(hold, charge, answer), charge.amount > 0),
    charge: (hold, charge, answer) => ended(ledger.charge(hold, charge, answer), charge.amount > 0),
    budgets: (keys) => ended(ledger.budgets(keys), false),
  }
}

/** After the time at which a method fails by itself. */
const graceMs = commitGraceMs + 500

const ended = <A, E>(method: Effect.Effect<A, E>, mayCharge: boolean) =>
  Effect.flatMap(Deadline, (deadline) => waitUntil(deadline + graceMs)(method)).pipe(
    Effect.flatMap(Option.match({ onSome: Effect.succeed, onNone: () => timeout(mayCharge) })),
  )

const timeout = (mayCharge: boolean) => Effect.fail(new StoreTimeout({ mayCharge }))
