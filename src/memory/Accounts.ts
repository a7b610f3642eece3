/** In-memory implementation of the port Accounts, for tests. Nothing survives the process. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Order from "effect/Order"
import { v7 as uuid } from "uuid"
import { Account, AccountExists, AccountId, AccountNotFound, Accounts } from "../Account.ts"

export const layer: Layer.Layer<Accounts> = Layer.sync(Accounts, () => {
  const accounts = new Map<string, Account>()
  return Accounts.of({
    create: (name) =>
      Effect.suspend(() => {
        if (accounts.has(name)) return new AccountExists({ name })
        const account = Account.make({ id: AccountId.make(uuid()), name })
        accounts.set(name, account)
        return Effect.succeed(account)
      }),

    find: (nameOrId) =>
      Effect.suspend(() =>
        Effect.mapError(
          Effect.fromNullable(
            [...accounts.values()].find(({ id }) => id === nameOrId) ?? accounts.get(nameOrId),
          ),
          () => new AccountNotFound({ account: nameOrId }),
        ),
      ),

    list: Effect.sync(() => Arr.sortWith(accounts.values(), ({ name }) => name, Order.string)),
  })
})
