/** In-memory implementation of the port ApiKeys, for tests. Nothing survives the process. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../ApiKey.ts"
import { Accounts } from "../Account.ts"
import { ApiKeyNotFound, ApiKeys, InvalidApiKey } from "../ApiKeys.ts"

export const layer: Layer.Layer<ApiKeys, never, Accounts> = Layer.effect(
  ApiKeys,
  Effect.map(Accounts, (accounts) => {
    const records = new Map<ApiKey.KeyHash, ApiKey.ApiKey>()

    const find = (id: ApiKey.ApiKeyId) =>
      Effect.suspend(() =>
        Effect.mapError(
          Effect.fromNullable([...records].find(([, record]) => record.id === id)),
          () => new ApiKeyNotFound({ id }),
        ),
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
          const { name } = yield* Effect.orDie(accounts.find(record.accountId))
          return { ...record, accountName: name }
        }),

      issue: (options) =>
        Effect.map(Clock.currentTimeMillis, (now) =>
          insert(ApiKey.issue(ApiKey.terms(options), now)),
        ),

      rotate: (id, grace) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const [hash, former] = yield* find(id)
          if (!ApiKey.isUsable(former, now)) return yield* new ApiKeyNotFound({ id })
          const expiresAt = ApiKey.endAfterGrace(former, now, Duration.toMillis(grace))
          records.set(hash, { ...former, expiresAt })
          return insert(ApiKey.issue(former, now))
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

      unreadable: Effect.succeed([]),
    })
  }),
)
