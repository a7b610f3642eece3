/** Decides whether and when the console sends a batch again, and which outcomes it offers to retry. */
import type { Answer } from "./ApiClient.ts"
import type { Reason } from "./Row.ts"

/** Why a batch waits before it is sent again, and until when. */
export type Delay = {
  /** The time of the next attempt, in epoch milliseconds. */
  readonly until: number
} & (
  | {
      readonly kind: "server"
      readonly attempt: number
      readonly of: number
      /** The message of the service; undefined when no answer arrived. */
      readonly message: string | undefined
    }
  | { readonly kind: "rate limit" }
  /** The service is still processing an earlier attempt to check the same batch. */
  | { readonly kind: "in progress" }
)

/** The back-off between retries: about 15 seconds in all, enough for a restart of the service. */
const delaysMs = [500, 1000, 2000, 4000, 8000]

/**
 * Returns the delay before the next attempt, or undefined when the batch must not be sent again.
 */
export const delayAfter = (
  answer: Answer<unknown>,
  attempt: number,
  { isOnline, now }: { readonly isOnline: () => boolean; readonly now: () => number },
): Delay | undefined => {
  if (answer._tag === "Answered") return undefined
  const askedMs = answer._tag === "Refused" ? answer.retryAfterMs : undefined
  if (answer._tag === "Refused" && (answer.status === 429 || answer.status === 409)) {
    const kind = answer.status === 429 ? "rate limit" : "in progress"
    return { kind, until: now() + (askedMs ?? 1000) }
  }
  const isWorthwhile = answer._tag === "Lost" || answer.status >= 500
  const backoffMs = delaysMs[attempt - 1]
  if (!isWorthwhile || !isOnline() || backoffMs === undefined) return undefined
  return {
    kind: "server",
    attempt,
    of: delaysMs.length,
    message: answer._tag === "Refused" ? answer.message : undefined,
    until: now() + Math.max(backoffMs, askedMs ?? 0),
  }
}

/** True when a retry may succeed. */
export const isWorthRetrying = (reason: Reason) =>
  reason === "PROVIDER_ERROR" || reason === "SERVER_ERROR"
