/**
 * Caches usable API keys for a few seconds, so that a client's next request costs no query. A key
 * that another process revokes or changes, or whose account is suspended, stays the same until its
 * cache entry expires.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as ApiKey from "../ApiKey.ts"
import { type AccountKey, ApiKeys } from "../ApiKeys.ts"
import { Lru } from "./Lru.ts"
import { Deadline, waitUntil } from "../Deadline.ts"
import { peekable } from "../Direct.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import { StoreTimeout } from "../StoreTimeout.ts"

// How long a key stays cached: less than 5 s, because a revocation must take effect in all
// processes within 5 s.
const timeToLiveMs = 3000

const capacity = 10_000

interface Known {
  readonly record: AccountKey
  /** The start of the query for the key: a time of `MonotonicClock.now`, in milliseconds. */
  readonly since: number
}

/** Wraps another `ApiKeys` in a cache of the keys that were authenticated. */
export const layer: Layer.Layer<ApiKeys, never, ApiKeys> = Layer.effect(
  ApiKeys,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const clock = yield* Effect.clock
    let known = new Lru<Known>(capacity)

    // Replaces the cache by an empty cache, so that key changes in this process take effect at
    // once.
    const forgetAll = Effect.sync(() => {
      known = new Lru(capacity)
    })

    const recall = (key: Redacted.Redacted<string>): AccountKey | undefined => {
      const hit = known.get(Redacted.value(key))
      return hit !== undefined &&
        MonotonicClock.unsafeNow(clock) < hit.since + timeToLiveMs &&
        ApiKey.isUsable(hit.record, clock.unsafeCurrentTimeMillis())
        ? hit.record
        : undefined
    }

    const ask = (key: Redacted.Redacted<string>) =>
      Effect.flatMap(Deadline, (deadline) => {
        // Remember the current cache. If `forgetAll` replaces it during the query, the result may
        // be outdated, and goes into the old cache, which is not read any more.
        const cache = known
        const since = MonotonicClock.unsafeNow(clock)
        const asked = Effect.tap(keys.authenticate(key), (record) =>
          Effect.sync(() => cache.set(Redacted.value(key), { record, since })),
        )
        // The query continues after a timeout, so the client's next request can find the key in
        // the cache.
        return Effect.flatMap(waitUntil(deadline)(asked), orTimeout)
      })

    return ApiKeys.of({
      ...keys,
      authenticate: peekable(recall, ask),
      rotate: (id, grace) => Effect.ensuring(keys.rotate(id, grace), forgetAll),
      update: (id, change) => Effect.ensuring(keys.update(id, change), forgetAll),
      revoke: (id) => Effect.ensuring(keys.revoke(id), forgetAll),
    })
  }),
)

const orTimeout = Option.match({
  onNone: () => Effect.fail(new StoreTimeout({ mayCharge: false })),
  onSome: (record: AccountKey) => Effect.succeed(record),
})
