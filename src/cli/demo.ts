/**
 * The demo account, to try the service. `demoKey` creates it when the service starts, if no account
 * exists and the sandbox is the only provider.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AccountName, Accounts } from "../Account.ts"
import { ApiKeys } from "../ApiKeys.ts"
import { CreditLedger } from "../CreditLedger.ts"
import { Credits } from "../ledger/Credits.ts"
import * as Settings from "../Settings.ts"

export const demoName = AccountName.make("demo")

export const demoCredits = Credits.make(1000)

/**
 * Creates the demo account with its credits, and returns its key. Returns none when an account
 * exists or another provider than the sandbox is set.
 */
export const demoKey = Effect.gen(function* () {
  const { providers } = yield* Settings.Settings
  const accounts = yield* Accounts
  if (!isSandbox(providers) || (yield* accounts.list).length > 0) return Option.none()
  const { id } = yield* accounts.create(demoName)
  yield* (yield* CreditLedger).grant(id, demoCredits, "to try the service")
  return Option.some(yield* (yield* ApiKeys).issue({ account: id, label: demoName }))
}).pipe(
  // Another process created the account at the same time.
  Effect.catchTag("AccountExists", () => Effect.succeedNone),
)

export const isSandbox = (providers: ReadonlyArray<Settings.ProviderName>) =>
  providers.every((name) => name === "sandbox")

/** Returns true when the demo account exists and other machines can reach `host`. */
export const isExposed = (host: string) =>
  isLoopback(host)
    ? Effect.succeed(false)
    : Effect.flatMap(Accounts, ({ find }) => Effect.isSuccess(find(demoName)))

/** Returns true when only this machine can reach `host`. */
const isLoopback = (host: string) => /^(localhost|127\.[\d.]+|::1|\[::1\])$/.test(host)
