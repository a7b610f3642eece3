/**
 * Limits, in each process, an account's requests in a time window and a key's requests in progress.
 * The headers follow the IETF draft on RateLimit header fields.
 */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { AccountId } from "../accounts/Account.ts"
import type { ApiKeyId } from "../accounts/ApiKey.ts"
import { retryLater, TooManyRequests } from "../contract/Envelope.ts"
import { maxRequestsOfKey } from "../contract/Limits.ts"
import { counted } from "../contract/counted.ts"
import * as MonotonicClock from "../check/MonotonicClock.ts"

export interface Limit {
  readonly requests: number
  readonly per: Duration.Duration
}

export class RateLimit extends Context.Tag("authority/http/RateLimit")<
  RateLimit,
  {
    /** Counts a request. Returns a 429 when the account exceeds its limit, otherwise undefined. */
    readonly count: (account: AccountId) => TooManyRequests | undefined
    /** Counts a request of the key as in progress until the scope ends, or refuses it. */
    readonly enter: (key: ApiKeyId) => Effect.Effect<void, TooManyRequests, Scope.Scope>
  }
>() {}

interface Window<Key> {
  /** When the window ends, in milliseconds of `MonotonicClock`. */
  readonly endsAt: number
  readonly counts: Map<Key, number>
}

export const layer = (limit: Limit | undefined): Layer.Layer<RateLimit> =>
  Layer.effect(
    RateLimit,
    Effect.map(Effect.clock, (clock) => ({
      count: limit === undefined ? () => undefined : counter(limit, clock),
      enter: entrance(),
    })),
  )

const entrance = (): RateLimit["Type"]["enter"] => {
  const underWay = new Map<ApiKeyId, number>()
  const add = (key: ApiKeyId, change: 1 | -1) => {
    const count = (underWay.get(key) ?? 0) + change
    if (count === 0) underWay.delete(key)
    else underWay.set(key, count)
  }
  return (key) =>
    Effect.flatMap(Effect.scope, (scope) => {
      if ((underWay.get(key) ?? 0) >= maxRequestsOfKey) return tooManyUnderWay()
      add(key, 1)
      return Scope.addFinalizer(
        scope,
        Effect.sync(() => add(key, -1)),
      )
    })
}

const tooManyUnderWay = () =>
  new TooManyRequests({
    message: `${maxRequestsOfKey} requests of this API key are under way; send fewer at a time.`,
    headers: retryLater,
  })

/** Counts in fixed windows. The first request after the end of a window starts the next one. */
export const counter = <Key = AccountId>(
  { per, requests }: Limit,
  clock: Clock.Clock,
): ((key: Key) => TooManyRequests | undefined) => {
  const perMs = Duration.toMillis(per)
  let window: Window<Key> = { endsAt: Number.NEGATIVE_INFINITY, counts: new Map() }

  return (key) => {
    const now = MonotonicClock.unsafeNow(clock)
    if (now >= window.endsAt) window = { endsAt: now + perMs, counts: new Map() }
    const count = (window.counts.get(key) ?? 0) + 1
    window.counts.set(key, count)
    if (count <= requests) return undefined
    const seconds = Math.max(1, Math.ceil((window.endsAt - now) / 1000))
    return new TooManyRequests({
      message: `The account has reached its rate limit of ${counted(requests, "request")} in ${Duration.format(per)}; try again later.`,
      headers: {
        "retry-after": String(seconds),
        "ratelimit-policy": `"account";q=${requests};w=${Math.ceil(perMs / 1000)}`,
        ratelimit: `"account";r=0;t=${seconds}`,
      },
    })
  }
}
