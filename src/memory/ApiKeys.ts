/** In-memory implementation of the port ApiKeys, for tests. Nothing survives the process. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../ApiKey.ts"
import { Accounts } from "../Account.ts"
import { type AccountKey, ApiKeyNotFound, ApiKeys, InvalidApiKey } from "../ApiKeys.ts"
import * as KeyRecords from "./KeyRecords.ts"
import { contains, findsKey, pageOf } from "./search.ts"

const make = Effect.map(Effect.all([Accounts, KeyRecords.KeyRecords]), ([accounts, records]) => {
  const find = (id: ApiKey.ApiKeyId) =>
    Effect.suspend(() =>
      Effect.mapError(
        Effect.fromNullable([...records].find(([, record]) => record.id === id)),
        () => new ApiKeyNotFound({ id }),
      ),
    )

  const usable = (id: ApiKey.ApiKeyId) =>
    Effect.flatMap(Effect.zip(find(id), Clock.currentTimeMillis), ([[hash, record], now]) =>
      ApiKey.isUsable(record, now)
        ? Effect.succeed({ hash, now, record })
        : new ApiKeyNotFound({ id }),
    )

  const withAccount = (record: ApiKey.ApiKey): Effect.Effect<AccountKey> =>
    accounts.find(record.accountId).pipe(
      Effect.orDie,
      Effect.map(({ name, suspendedAt }) => ({
        ...record,
        accountName: name,
        accountSuspendedAt: suspendedAt,
      })),
    )

  const insert = (issued: ApiKey.IssuedKey) => {
    records.set(ApiKey.hash(issued.key), issued.record)
    return issued
  }

  return ApiKeys.of({
    authenticate: (key) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const record = records.get(ApiKey.hash(key))
        if (record === undefined || !ApiKey.isUsable(record, now)) {
          return yield* new InvalidApiKey()
        }
        return yield* withAccount(record)
      }),

    issue: (options) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        insert(ApiKey.issue(ApiKey.terms(options), now)),
      ),

    rotate: (id, grace) =>
      Effect.gen(function* () {
        const { hash, now, record: former } = yield* usable(id)
        const expiresAt = ApiKey.endAfterGrace(former, now, Duration.toMillis(grace))
        records.set(hash, { ...former, expiresAt })
        return insert(ApiKey.issue(former, now))
      }),

    update: (id, change) =>
      Effect.map(usable(id), ({ hash, record }) => {
        const {
          budget = record.budget ?? null,
          label = record.label,
          scopes = record.scopes,
        } = change
        const changed = { ...record, budget, label, scopes }
        records.set(hash, changed)
        return changed
      }),

    revoke: (id) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const [hash, record] = yield* find(id)
        const revokedAt = record.revokedAt ?? now
        records.set(hash, { ...record, revokedAt })
        return { id, revokedAt }
      }),

    list: (account) =>
      Effect.sync(() => [...records.values()].filter(({ accountId }) => accountId === account)),

    search: (search) =>
      Effect.map(Effect.forEach(records.values(), withAccount), (keys) =>
        pageOf(
          keys,
          search,
          (key) => contains(search.text, key.accountName) || findsKey(search.text, key),
        ),
      ),

    unreadable: Effect.succeed([]),
  })
})

export const layer: Layer.Layer<ApiKeys, never, Accounts> = Layer.effect(ApiKeys, make).pipe(
  Layer.provide(KeyRecords.layer),
)
