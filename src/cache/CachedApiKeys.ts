/**
 * Caches usable API keys for a few seconds, so that a client's next request costs no query. A key
 * that another process revokes works until its cache entry expires.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as ApiKey from "../ApiKey.ts"
import { ApiKeys } from "../ApiKeys.ts"
import { Lru } from "./Lru.ts"
import { Deadline, waitUntil } from "../Deadline.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import { StoreTimeout } from "../StoreTimeout.ts"

/**
 * How long a key stays cached: less than 5 s, because a revocation must take effect in all
 * processes within 5 s.
 */
const timeToLiveMs = 3000

/** Maximum number of cached keys. */
const capacity = 10_000

interface Known {
  readonly record: ApiKey.ApiKey
  /** The start of the query for the key: a time of `MonotonicClock.now`, in milliseconds. */
  readonly since: number
}

/**
 * Returns the cached record of a key that is usable at `nowMs` (epoch milliseconds), else
 * undefined.
 */
export type Recall = (key: string, nowMs: number) => ApiKey.ApiKey | undefined

const recalls = new WeakMap<ApiKeys["Type"], Recall>()

/**
 * Returns a function that reads this layer's cache without a fiber. Returns undefined for an
 * `ApiKeys` that another layer made.
 */
export const recallOf = (keys: ApiKeys["Type"]): Recall | undefined => recalls.get(keys)

/** Wraps another `ApiKeys` in a cache of the keys that were authenticated. */
export const layer: Layer.Layer<ApiKeys, never, ApiKeys> = Layer.effect(
  ApiKeys,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const clock = yield* Effect.clock
    let known = new Lru<string, Known>(capacity)

    /**
     * Replaces the cache by an empty cache, so that key changes in this process take effect at
     * once.
     */
    const forgetAll = Effect.sync(() => {
      known = new Lru(capacity)
    })

    const recall: Recall = (secret, now) => {
      const hit = known.get(secret)
      return hit !== undefined &&
        isFresh(hit, MonotonicClock.unsafeNow(clock)) &&
        ApiKey.isUsable(hit.record, now)
        ? hit.record
        : undefined
    }

    const cached = ApiKeys.of({
      ...keys,
      authenticate: (key) =>
        Effect.suspend(() => {
          const secret = Redacted.value(key)
          const record = recall(secret, clock.unsafeCurrentTimeMillis())
          if (record !== undefined) return Effect.succeed(record)
          // Remember the current cache. If `forgetAll` replaces it during the query, the result may
          // be outdated, and goes into the old cache, which is not read any more.
          const cache = known
          const since = MonotonicClock.unsafeNow(clock)
          const asked = Effect.tap(keys.authenticate(key), (record) =>
            Effect.sync(() => cache.set(secret, { record, since })),
          )
          // The query continues after a timeout, so the client's next request can find the key in
          // the cache.
          return Deadline.pipe(
            Effect.flatMap((deadline) => waitUntil(deadline)(asked)),
            Effect.flatMap(orTimeout),
          )
        }),
      rotate: (id, grace) => Effect.ensuring(keys.rotate(id, grace), forgetAll),
      revoke: (id) => Effect.ensuring(keys.revoke(id), forgetAll),
    })
    recalls.set(cached, recall)
    return cached
  }),
)

const orTimeout = Option.match({
  onNone: () => Effect.fail(new StoreTimeout({ mayCharge: false })),
  onSome: (record: ApiKey.ApiKey) => Effect.succeed(record),
})

const isFresh = ({ since }: Known, now: number) => now < since + timeToLiveMs
