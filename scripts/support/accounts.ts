/** Creates accounts with unique names, for tests that share a store. */
import * as Effect from "effect/Effect"
import { type AccountId, AccountName, Accounts } from "../../src/accounts/Account.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Credits } from "../../src/ledger/Credits.ts"

let opened = 0

export const newAccount = Effect.flatMap(Accounts, (accounts) =>
  Effect.orDie(accounts.create(AccountName.make(`account-${++opened}`))),
)

export const newAccountWith = (
  credits: number,
): Effect.Effect<AccountId, never, Accounts | CreditLedger> =>
  Effect.gen(function* () {
    const { id } = yield* newAccount
    yield* Effect.orDie((yield* CreditLedger).grant(id, Credits.make(credits), null))
    return id
  })
