/**
 * The demo account, for trying out the service. `demoKey` creates it when the service starts, if no
 * account exists and the sandbox is the only provider.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AccountName, Accounts } from "../../accounts/Account.ts"
import * as ApiKey from "../../accounts/ApiKey.ts"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import { Credits } from "../../ledger/Credits.ts"
import * as Settings from "../../Settings.ts"

export const demoName = AccountName.make("demo")

export const demoCredits = Credits.make(1000)

/**
 * Creates the demo account with its credits, and returns its key. Returns none if an account exists
 * or a provider other than the sandbox is set. Logs in JSON are usually stored, and a key must
 * not be, so with them the account gets no key, unless `isApart` says that it is printed elsewhere.
 */
export const demoKey = Effect.fnUntraced(
  function* (isApart: boolean) {
    const { logFormat, providers } = yield* Settings.Settings
    const accounts = yield* Accounts
    if (!isSandbox(providers) || (yield* accounts.list).length > 0) return Option.none()
    const { id } = yield* accounts.create(demoName)
    yield* Effect.orDie((yield* CreditLedger).grant(id, demoCredits, "to try the service"))
    if (logFormat === "json" && !isApart) {
      yield* Effect.logWarning(
        `The account ${demoName} has no key, because the log is JSON. Run 'authority key create --account ${demoName}'.`,
      )
      return Option.none()
    }
    return Option.some(yield* (yield* ApiKeys).issue({ account: id, label: demoName }))
    // Another process created the account at the same time.
  },
  Effect.catchTag("AccountExists", () => Effect.succeedNone),
)

export const isSandbox = (providers: ReadonlyArray<Settings.ProviderName>) =>
  providers.every((name) => name === "sandbox")

/**
 * `Option.some` if the demo account has a usable key and that is a risk: other machines can reach
 * the service, or the provider charges for figures. `revoke` lists the commands that revoke these
 * keys.
 */
export const demoRisk = Effect.gen(function* () {
  const { host, providers } = yield* Settings.Settings
  const reasons = [
    ...(isLoopback(host) ? [] : [`other machines can connect to ${host}`]),
    ...(providers.every((name) => free.has(name))
      ? []
      : [`the provider is ${providers.join(",")}`]),
  ]
  const account = yield* Effect.option((yield* Accounts).find(demoName))
  if (reasons.length === 0 || Option.isNone(account)) return Option.none()
  const now = yield* Clock.currentTimeMillis
  const keys = (yield* (yield* ApiKeys).list(account.value.id)).filter((key) =>
    ApiKey.isUsable(key, now),
  )
  return keys.length === 0
    ? Option.none()
    : Option.some({
        why: reasons.join(", and "),
        revoke: keys.map(({ id }) => `authority key revoke ${id}`).join("; "),
      })
})

const free = new Set<Settings.ProviderName>(["sandbox", "dataset"])

const isLoopback = (host: string) => /^(localhost|127\.[\d.]+|::1|\[::1\])$/.test(host)
