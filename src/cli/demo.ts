/** The demo account, which the sandbox's first start creates. */
import * as Effect from "effect/Effect"
import { AccountName, Accounts } from "../Account.ts"

export const demoName = AccountName.make("demo")

/** Returns true when the demo account exists and other machines can reach `host`. */
export const isExposed = (host: string) =>
  isLoopback(host)
    ? Effect.succeed(false)
    : Effect.flatMap(Accounts, ({ list }) =>
        Effect.map(list, (accounts) => accounts.some(({ name }) => name === demoName)),
      )

/** Returns true when only this machine can reach `host`. */
const isLoopback = (host: string) => /^(localhost|127\.[\d.]+|::1|\[::1\])$/.test(host)
