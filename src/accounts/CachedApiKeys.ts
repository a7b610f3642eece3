/**
 * Caches usable API keys for a few seconds, so that a client's next request costs no query;
 * requests that arrive during a query share it. Changes that another process makes to a key or its
 * account take effect when the cache entry expires; changes by this process take effect at once.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Accounts } from "./Account.ts"
import * as ApiKey from "./ApiKey.ts"
import { type AccountKey, ApiKeys, type InvalidApiKey } from "./ApiKeys.ts"
import { Lru } from "../check/Lru.ts"
import * as MonotonicClock from "../check/MonotonicClock.ts"
import { inTime, type StoreTimeout } from "../ledger/StoreTimeout.ts"

// Less than 5 s, because a revocation must take effect in all processes within 5 s.
const timeToLiveMs = 3000

const capacity = 10_000

interface Known {
  readonly record: AccountKey
  /** When the query that read the key started, by `MonotonicClock.now`, in milliseconds. */
  readonly since: number
}

type Wrapped = Accounts | ApiKeys

/**
 * Wraps `ApiKeys` in a cache of authenticated keys, and `Accounts` so that a suspension empties the
 * cache.
 */
export const layer: Layer.Layer<Wrapped, never, Wrapped> = Layer.effectContext(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const keys = yield* ApiKeys
    const clock = yield* Effect.clock
    const newCache = () => ({
      found: new Lru<Known>(capacity),
      /** The queries in progress. */
      asked: new Map<string, Deferred.Deferred<AccountKey, InvalidApiKey | StoreTimeout>>(),
    })
    let cache = newCache()

    // Replaces the cache by an empty one, so that changes by this process take effect at once.
    const thenForget = Effect.ensuring(
      Effect.sync(() => {
        cache = newCache()
      }),
    )

    const recall = (key: Redacted.Redacted<string>): Effect.Effect<AccountKey> | undefined => {
      const hit = cache.found.get(Redacted.value(key))
      return hit !== undefined &&
        MonotonicClock.unsafeNow(clock) < hit.since + timeToLiveMs &&
        ApiKey.isUsable(hit.record, clock.unsafeCurrentTimeMillis())
        ? Effect.succeed(hit.record)
        : undefined
    }

    // A query runs as a daemon: it continues after a timeout, so that the client's next request can
    // find the key in the cache. Other requests wait for its Deferred, because joining its fiber
    // would give them the context of the request that started it.
    const query = Effect.fnUntraced(function* (key: Redacted.Redacted<string>) {
      const secret = Redacted.value(key)
      const own = yield* Deferred.make<AccountKey, InvalidApiKey | StoreTimeout>()
      const shared = yield* Effect.uninterruptible(
        Effect.suspend(() => {
          // If the cache was replaced during the query, the result may be outdated. It then goes
          // into the old cache, which no later request reads.
          const { asked, found } = cache
          const former = asked.get(secret)
          if (former !== undefined) return Effect.succeed(former)
          asked.set(secret, own)
          const since = MonotonicClock.unsafeNow(clock)
          return keys.authenticate(key).pipe(
            Effect.tap((record) => Effect.sync(() => found.set(secret, { record, since }))),
            Effect.ensuring(Effect.sync(() => asked.delete(secret))),
            Effect.intoDeferred(own),
            Effect.interruptible,
            Effect.forkDaemon,
            Effect.as(own),
          )
        }),
      )
      return yield* Deferred.await(shared)
    })

    return Context.make(ApiKeys, {
      ...keys,
      authenticate: (key) => Effect.suspend(() => recall(key) ?? inTime(query(key))),
      rotate: (id, grace) => thenForget(keys.rotate(id, grace)),
      update: (id, change) => thenForget(keys.update(id, change)),
      revoke: (id) => thenForget(keys.revoke(id)),
    }).pipe(
      Context.add(Accounts, {
        ...accounts,
        suspend: (id) => thenForget(accounts.suspend(id)),
        resume: (id) => thenForget(accounts.resume(id)),
      }),
    )
  }),
)
