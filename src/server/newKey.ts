import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { type AccountExists, AccountName, Accounts } from "../accounts/Account.ts"
import { ApiKeys } from "../accounts/ApiKeys.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { Credits } from "../ledger/Credits.ts"

/**
 * Creates an account with credits and returns a new API key, which is not shown again. Dies when
 * the name or the number of credits is invalid. Dies with StoreFailure when the database fails.
 */
export const newKey = (options: {
  readonly account: string
  readonly credits: number
}): Effect.Effect<Redacted.Redacted, AccountExists, Accounts | ApiKeys | CreditLedger> =>
  Effect.gen(function* () {
    const credits = Credits.make(options.credits)
    const { id } = yield* (yield* Accounts).create(AccountName.make(options.account))
    if (credits > 0) yield* Effect.orDie((yield* CreditLedger).grant(id, credits, null))
    const { key } = yield* (yield* ApiKeys).issue({ account: id })
    return key
  })
