/**
 * Keys that were found good are known for a few seconds, so that a client's next request costs no
 * query. A key that is revoked in another process works for that long at most.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as ApiKey from "./ApiKey.ts"
import { ApiKeys } from "./ApiKeys.ts"
import { Deadline, waitUntil } from "./Deadline.ts"
import * as Stopwatch from "./Stopwatch.ts"
import { StoreTimeout } from "./StoreTimeout.ts"

/** Below the 5 s within which a revocation is seen everywhere. */
const timeToLiveMs = 3000

/** How many keys are known at once; the one known for longest goes first. */
const capacity = 10_000

interface Known {
  readonly record: ApiKey.ApiKey
  /** When it was asked for, on the stopwatch. */
  readonly since: number
}

/** A key that is known to be usable at a time in epoch milliseconds; undefined for any other. */
export type Recall = (key: string, nowMs: number) => ApiKey.ApiKey | undefined

const recalls = new WeakMap<ApiKeys["Type"], Recall>()

/** For keys that this layer has made, a look into its memory; undefined for any others. */
export const recallOf = (keys: ApiKeys["Type"]): Recall | undefined => recalls.get(keys)

/** ApiKeys over ApiKeys. */
export const layer: Layer.Layer<ApiKeys, never, ApiKeys> = Layer.effect(
  ApiKeys,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const clock = yield* Effect.clock
    const known = new Map<string, Known>()

    /** How often all was forgotten: what was asked for before that is out of date. */
    let generation = 0

    const remember = (secret: string, record: ApiKey.ApiKey, since: number, asOf: number) => {
      if (asOf !== generation) return
      known.delete(secret)
      known.set(secret, { record, since })
      if (known.size > capacity) {
        for (const oldest of known.keys()) {
          known.delete(oldest)
          break
        }
      }
    }

    /** What this process changes, it sees at once. */
    const forgetAll = Effect.sync(() => {
      generation++
      known.clear()
    })

    const recall: Recall = (secret, now) => {
      const hit = known.get(secret)
      return hit !== undefined &&
        isFresh(hit, Stopwatch.unsafeNow(clock)) &&
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
          const asOf = generation
          const since = Stopwatch.unsafeNow(clock)
          const asked = Effect.tap(keys.authenticate(key), (record) =>
            Effect.sync(() => remember(secret, record, since, asOf)),
          )
          // An answer that comes too late is known to the next request.
          return Deadline.pipe(
            Effect.flatMap((deadline) => waitUntil(deadline)(asked)),
            Effect.flatMap(orTimeout),
          )
        }),
      rotate: (id, grace) => Effect.ensuring(keys.rotate(id, grace), forgetAll),
      withdraw: (issued) => Effect.ensuring(keys.withdraw(issued), forgetAll),
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
