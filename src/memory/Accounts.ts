/** In-memory implementation of the port Accounts, for tests. Nothing survives the process. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Order from "effect/Order"
import { v7 as uuid } from "uuid"
import { Account, AccountExists, AccountId, AccountNotFound, Accounts } from "../Account.ts"
import { AuditLog } from "../AuditLog.ts"
import * as MemoryAuditLog from "./AuditLog.ts"
import * as KeyRecords from "./KeyRecords.ts"
import { contains, findsKey, pageOf } from "./search.ts"

const make = Effect.map(Effect.all([KeyRecords.KeyRecords, AuditLog]), ([keys, { append }]) => {
  const accounts = new Map<string, Account>()

  const find = (nameOrId: string) =>
    Effect.suspend(() =>
      Effect.mapError(
        Effect.fromNullable(
          [...accounts.values()].find(({ id }) => id === nameOrId) ?? accounts.get(nameOrId),
        ),
        () => new AccountNotFound({ account: nameOrId }),
      ),
    )

  const put = (action: string, account: Account) => {
    accounts.set(account.name, account)
    return Effect.as(append({ action, subject: account.name, detail: {} }), account)
  }

  return Accounts.of({
    create: (name) =>
      Effect.suspend(() =>
        accounts.has(name)
          ? new AccountExists({ name })
          : put("account.create", Account.make({ id: AccountId.make(uuid()), name })),
      ),

    find,

    list: Effect.sync(() => Arr.sortWith(accounts.values(), ({ name }) => name, Order.string)),

    search: (search) =>
      Effect.sync(() =>
        pageOf(
          accounts.values(),
          search,
          ({ id, name }) =>
            contains(search.text, name) ||
            [...keys.values()].some((key) => key.accountId === id && findsKey(search.text, key)),
        ),
      ),

    suspend: (id) =>
      Effect.flatMap(Effect.zip(find(id), Clock.currentTimeMillis), ([account, now]) =>
        put(
          "account.suspend",
          Account.make({ ...account, suspendedAt: account.suspendedAt ?? now }),
        ),
      ),

    resume: (id) =>
      Effect.flatMap(find(id), (account) =>
        put("account.resume", Account.make({ ...account, suspendedAt: null })),
      ),
  })
})

export const layer: Layer.Layer<Accounts> = Layer.effect(Accounts, make).pipe(
  Layer.provide([KeyRecords.layer, MemoryAuditLog.layer]),
)
