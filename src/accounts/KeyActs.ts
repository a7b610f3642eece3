/**
 * What operators do with API keys. Each act returns the document that both the command line and the
 * HTTP administration show.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as AccountActs from "./AccountActs.ts"
import * as ApiKey from "./ApiKey.ts"
import { ApiKeys, type Change, type KeySearch } from "./ApiKeys.ts"
import { type AuditLog, once, refused } from "./AuditLog.ts"
import * as Budget from "../ledger/budgets/Budget.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { inTime } from "../ledger/StoreTimeout.ts"
import type { Search } from "./Account.ts"
import { isoTime } from "./TimeSpan.ts"

/** Reads how much the keys have spent, and returns a function that describes one of them. */
const describing = (keys: ReadonlyArray<ApiKey.ApiKey>) =>
  Effect.gen(function* () {
    const { budgets } = yield* CreditLedger
    const spent = yield* budgets(keys.map(({ id }) => id))
    const now = yield* Clock.currentTimeMillis
    return (key: ApiKey.ApiKey, account: string) => ({
      account,
      ...ApiKey.documentOf(key, spent.get(key.id), now),
    })
  })

export const search = (search: KeySearch) =>
  Effect.gen(function* () {
    const found = yield* inTime((yield* ApiKeys).search(search))
    const describe = yield* describing(found)
    return { keys: found.map((key) => describe(key, key.accountName)) }
  })

/** Lists an account's keys: one page, newest first, or all of them, oldest first. */
export const list = (nameOrId: string, page?: Omit<Search, "text">) =>
  Effect.gen(function* () {
    const { id, name } = yield* AccountActs.find(nameOrId)
    if (page !== undefined) return { account: name, ...(yield* search({ account: id, ...page })) }
    const found = yield* inTime((yield* ApiKeys).list(id))
    const describe = yield* describing(found)
    return { account: name, keys: found.map((key) => describe(key, name)) }
  })

interface NewKey extends Omit<ApiKey.NewKey, "account"> {
  readonly account: string
}

export const create = ({ account, ...terms }: NewKey) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const { id } = yield* AccountActs.find(account, "key.create")
    return yield* issued(keys.issue({ account: id, ...terms }))
  })

interface Rotation {
  readonly id: ApiKey.ApiKeyId
  readonly grace?: Duration.Duration
}

export const rotate = ({ grace = Duration.zero, id }: Rotation) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    return yield* issued(keys.rotate(id, grace).pipe(refused("key.rotate", id)))
  })

/**
 * The document of a new key. It has no secret for a repeated request, because no store keeps it.
 */
const issued = <E>(made: Effect.Effect<ApiKey.IssuedKey, E, AuditLog>) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    // The audit line of `key.create` names the new key; that of `key.rotate` names the old one.
    const { key, record } = yield* once("key.create", made, (id) =>
      Effect.map(keys.find(ApiKey.ApiKeyId.make(id)), (record) => ({ key: null, record })),
    )
    const { accountId, budget = null, expiresAt, id, scopes } = record
    // The key is already issued, so it is shown even if the account's name is not found.
    const account = yield* AccountActs.find(accountId).pipe(
      Effect.map(({ name }) => name),
      Effect.catchAllCause(() => Effect.succeed<string>(accountId)),
    )
    return {
      key: key && Redacted.value(key),
      id,
      account,
      expiresAt: isoTime(expiresAt),
      budget: budget && Budget.textOf(budget),
      scopes,
    }
  })

export const update = (id: ApiKey.ApiKeyId, change: Change) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const updated = yield* keys.update(id, change).pipe(refused("key.update", id))
    const { name } = yield* AccountActs.find(updated.accountId)
    const describe = yield* describing([updated])
    return { key: describe(updated, name) }
  })

export const revoke = (id: ApiKey.ApiKeyId) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const { revokedAt } = yield* keys.revoke(id).pipe(refused("key.revoke", id))
    return { id, revokedAt: isoTime(revokedAt) }
  })
