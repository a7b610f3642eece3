/** In-memory implementation of the port ApiKeys, for tests. Nothing survives the process. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../ApiKey.ts"
import { Accounts } from "../Account.ts"
import { type AccountKey, ApiKeyNotFound, ApiKeys, InvalidApiKey } from "../ApiKeys.ts"
import { AuditLog, keyDetail } from "../AuditLog.ts"
import type { Detail } from "../ledger/AuditLine.ts"
import * as MemoryAuditLog from "./AuditLog.ts"
import * as KeyBudgets from "./KeyBudgets.ts"
import * as KeyRecords from "./KeyRecords.ts"
import { contains, findsKey, pageOf } from "./search.ts"

const services = Effect.all([Accounts, KeyRecords.KeyRecords, KeyBudgets.KeyBudgets, AuditLog])

type Services = Effect.Effect.Success<typeof services>

const make = Effect.map(services, (services) => {
  const [accounts, records, keyBudgets] = services
  const withBudget = KeyBudgets.makeWithBudget(keyBudgets)

  const withAccount = (record: ApiKey.ApiKey): Effect.Effect<AccountKey> =>
    accounts.find(record.accountId).pipe(
      Effect.orDie,
      Effect.map(({ name, suspendedAt }) => ({
        ...withBudget(record),
        accountName: name,
        accountSuspendedAt: suspendedAt,
      })),
    )

  return ApiKeys.of({
    ...makeChanges(services),

    authenticate: (key) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const record = records.get(ApiKey.hash(key))
        if (record === undefined || !ApiKey.isUsable(record, now)) {
          return yield* new InvalidApiKey()
        }
        return yield* withAccount(record)
      }),

    list: (account) =>
      Effect.sync(() =>
        [...records.values()].filter(({ accountId }) => accountId === account).map(withBudget),
      ),

    find: (id) => Effect.map(KeyRecords.find(records, id), ([, record]) => withBudget(record)),

    search: (search) =>
      Effect.map(Effect.forEach(records.values(), withAccount), (keys) =>
        pageOf(
          keys,
          search,
          (key) =>
            (search.account ?? key.accountId) === key.accountId &&
            (contains(search.text, key.accountName) || findsKey(search.text, key)),
        ),
      ),

    unreadable: Effect.succeed([]),
  })
})

type Changes = Pick<ApiKeys["Type"], "issue" | "rotate" | "update" | "revoke">

const makeChanges = ([accounts, records, keyBudgets, { append }]: Services): Changes => {
  const withBudget = KeyBudgets.makeWithBudget(keyBudgets)

  const usable = (id: ApiKey.ApiKeyId) =>
    Effect.flatMap(
      Effect.zip(KeyRecords.find(records, id), Clock.currentTimeMillis),
      ([[hash, record], now]) =>
        ApiKey.isUsable(record, now)
          ? Effect.succeed({ hash, now, record })
          : new ApiKeyNotFound({ id }),
    )

  const insert = (issued: ApiKey.IssuedKey) => {
    records.set(ApiKey.hash(issued.key), issued.record)
    return issued
  }

  const note = (action: string, { accountId, id }: ApiKey.ApiKey, detail: Detail) =>
    Effect.flatMap(Effect.orDie(accounts.find(accountId)), ({ name }) =>
      append({ action, subject: id, detail: { account: name, ...detail } }),
    )

  return {
    issue: (options) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const issued = insert(ApiKey.issue(ApiKey.terms(options), now))
        if (options.budget !== undefined) {
          KeyBudgets.change(keyBudgets, issued.record.id, options.budget, now)
        }
        return Effect.as(
          note("key.create", issued.record, keyDetail.created(issued.record)),
          issued,
        )
      }),

    rotate: (id, grace) =>
      Effect.gen(function* () {
        const { hash, now, record: former } = yield* usable(id)
        const expiresAt = ApiKey.endAfterGrace(former, now, Duration.toMillis(grace))
        records.set(hash, { ...former, expiresAt })
        const issued = insert(ApiKey.issue(withBudget(former), now))
        keyBudgets.budgets.put(issued.record.id, keyBudgets.budgets.of(id))
        yield* note("key.rotate", former, keyDetail.rotated(issued.record.id, expiresAt))
        yield* note("key.create", issued.record, keyDetail.created(issued.record, id))
        return issued
      }),

    update: (id, change) =>
      Effect.flatMap(usable(id), ({ hash, now, record }) => {
        const { budget, label = record.label, scopes = record.scopes } = change
        if (budget !== undefined) KeyBudgets.change(keyBudgets, id, budget, now)
        const changed = { ...record, label, scopes }
        records.set(hash, changed)
        return Effect.as(note("key.update", record, keyDetail.updated(change)), withBudget(changed))
      }),

    revoke: (id) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const [hash, record] = yield* KeyRecords.find(records, id)
        const revokedAt = record.revokedAt ?? now
        records.set(hash, { ...record, revokedAt })
        yield* note("key.revoke", record, keyDetail.revoked(revokedAt))
        return { id, revokedAt }
      }),
  }
}

export const layer: Layer.Layer<ApiKeys, never, Accounts> = Layer.effect(ApiKeys, make).pipe(
  Layer.provide([KeyRecords.layer, KeyBudgets.layer, MemoryAuditLog.layer]),
)
