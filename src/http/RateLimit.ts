/**
 * Limits how many requests one account may make in a time window. Each process counts only the
 * requests that it receives. The headers follow the IETF draft on RateLimit header fields.
 */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AccountId } from "../Account.ts"
import { counted } from "../text/counted.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"

export interface Limit {
  readonly requests: number
  readonly per: Duration.Duration
}

/** The message and the headers of a 429. The headers say when to retry. */
export interface Refusal {
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
}

export class RateLimit extends Context.Tag("authority/http/RateLimit")<
  RateLimit,
  {
    /** Counts a request. Returns a refusal when the account is above its limit, else undefined. */
    readonly count: (account: AccountId) => Refusal | undefined
  }
>() {}

interface Window<Key> {
  /** When the window ends, in milliseconds of `MonotonicClock`. */
  readonly endsAt: number
  readonly counts: Map<Key, number>
}

/** Without a limit, every request passes. */
export const layer = (limit: Limit | undefined): Layer.Layer<RateLimit> =>
  Layer.effect(
    RateLimit,
    Effect.map(Effect.clock, (clock) => ({
      count: limit === undefined ? () => undefined : counter(limit, clock),
    })),
  )

/**
 * Makes a counter with fixed time windows. The first request after the end of a window starts the
 * next window.
 */
export const counter = <Key = AccountId>(
  { per, requests }: Limit,
  clock: Clock.Clock,
): ((key: Key) => Refusal | undefined) => {
  const perMs = Duration.toMillis(per)
  let window: Window<Key> = { endsAt: Number.NEGATIVE_INFINITY, counts: new Map() }

  return (key) => {
    const now = MonotonicClock.unsafeNow(clock)
    if (now >= window.endsAt) window = { endsAt: now + perMs, counts: new Map() }
    const count = (window.counts.get(key) ?? 0) + 1
    window.counts.set(key, count)
    if (count <= requests) return undefined
    const seconds = Math.max(1, Math.ceil((window.endsAt - now) / 1000))
    return {
      message: `The account has reached its rate limit of ${counted(requests, "request")} in ${Duration.format(per)}; try again later.`,
      headers: {
        "retry-after": String(seconds),
        "ratelimit-policy": `"account";q=${requests};w=${Math.ceil(perMs / 1000)}`,
        ratelimit: `"account";r=0;t=${seconds}`,
      },
    }
  }
}
