/**
 * How many requests one account may make in a span of time, counted in this process. The headers
 * are those of the IETF's draft on RateLimit header fields.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { AccountId } from "../Account.ts"
import { type Answer, failure } from "./Answer.ts"

export interface Limit {
  readonly requests: number
  readonly per: Duration.Duration
}

/** The accounts of one window; a new one forgets them all. */
interface Window {
  readonly endsAt: number
  readonly counts: Map<AccountId, number>
}

/** Undefined lets a request of the account through; otherwise it is a 429. */
export type RateLimit = (account: AccountId) => Effect.Effect<Answer | undefined>

export const make = ({ per, requests }: Limit): RateLimit => {
  const perMs = Duration.toMillis(per)
  let window: Window = { endsAt: 0, counts: new Map() }

  return (account) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      if (now >= window.endsAt) window = { endsAt: now + perMs, counts: new Map() }
      const count = (window.counts.get(account) ?? 0) + 1
      window.counts.set(account, count)
      if (count <= requests) return undefined
      const seconds = Math.max(1, Math.ceil((window.endsAt - now) / 1000))
      return failure(
        429,
        `This account may make ${requests} requests in ${Duration.format(per)}.`,
        {
          "retry-after": String(seconds),
          "ratelimit-policy": `"account";q=${requests};w=${Math.ceil(perMs / 1000)}`,
          ratelimit: `"account";r=0;t=${seconds}`,
        },
      )
    })
}
