/** In-memory implementation of the port Accounts, for tests. Nothing survives the process. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
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

    list: Effect.sync(() =>
      [...accounts.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)),
    ),
  })
})
