/** The account that the first start with synthetic figures opens, to try them with. */
import * as Effect from "effect/Effect"
import { AccountName, Accounts } from "../Account.ts"

export const demoName = AccountName.make("demo")

/** Whether it exists where other machines than this one can reach the service. */
export const isExposed = (host: string) =>
  isLoopback(host)
    ? Effect.succeed(false)
    : Effect.flatMap(Accounts, ({ list }) =>
        Effect.map(list, (accounts) => accounts.some(({ name }) => name === demoName)),
      )

/** Whether only this machine can reach what listens there. */
const isLoopback = (host: string) => /^(localhost|127\.[\d.]+|::1|\[::1\])$/.test(host)
