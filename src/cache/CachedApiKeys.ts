/**
 * Caches usable API keys for a few seconds, so that a client's next request costs no query. A key
 * that another process revokes or changes, or whose account it suspends, stays the same until its
 * cache entry expires. What this process changes counts at once.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Accounts } from "../Account.ts"
import * as ApiKey from "../ApiKey.ts"
import { type AccountKey, ApiKeys } from "../ApiKeys.ts"
import { Lru } from "./Lru.ts"
import { peekable } from "../Direct.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import { inTime } from "../StoreTimeout.ts"

// How long a key stays cached: less than 5 s, because a revocation must take effect in all
// processes within 5 s.
const timeToLiveMs = 3000

const capacity = 10_000

interface Known {
  readonly record: AccountKey
  /** The start of the query for the key: a time of `MonotonicClock.now`, in milliseconds. */
  readonly since: number
}

type Wrapped = Accounts | ApiKeys

/**
 * Wraps another `ApiKeys` in a cache of the keys that were authenticated, and `Accounts` so that a
 * suspension empties this cache.
 */
export const layer: Layer.Layer<Wrapped, never, Wrapped> = Layer.effectContext(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const keys = yield* ApiKeys
    const clock = yield* Effect.clock
    let known = new Lru<Known>(capacity)

    // Replaces the cache by an empty cache, so that changes in this process take effect at once.
    const thenForget = Effect.ensuring(
      Effect.sync(() => {
        known = new Lru(capacity)
      }),
    )

    const recall = (key: Redacted.Redacted<string>): AccountKey | undefined => {
      const hit = known.get(Redacted.value(key))
      return hit !== undefined &&
        MonotonicClock.unsafeNow(clock) < hit.since + timeToLiveMs &&
        ApiKey.isUsable(hit.record, clock.unsafeCurrentTimeMillis())
        ? hit.record
        : undefined
    }

    const ask = (key: Redacted.Redacted<string>) => {
      // Remember the current cache. If a change replaces it during the query, the result may
      // be outdated, and goes into the old cache, which is not read any more.
      const cache = known
      const since = MonotonicClock.unsafeNow(clock)
      const asked = Effect.tap(keys.authenticate(key), (record) =>
        Effect.sync(() => cache.set(Redacted.value(key), { record, since })),
      )
      // The query continues after a timeout, so the client's next request can find the key in
      // the cache.
      return inTime(asked)
    }

    return Context.make(ApiKeys, {
      ...keys,
      authenticate: peekable(recall, ask),
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
