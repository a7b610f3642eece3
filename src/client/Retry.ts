/**
 * Decides whether a failed request is retried, and how long the client waits before the retry. The
 * wait is an exponential back-off, and all retries together have a time limit.
 */
import * as ClientError from "./ClientError.ts"

/** The failures of one call so far. */
export interface Failures {
  readonly count: number
  /** The start of the time limit for retries, in milliseconds of `performance.now`. */
  readonly since: number
}

/** The state before the first attempt. */
export const none: Failures = { count: 0, since: 0 }

/**
 * Returns the wait before the next attempt, in milliseconds, and the updated `failures`. Returns
 * undefined when the request must not be sent again. `random` is from 0 to 1. The time limit
 * `patienceMs` starts at the first failure, because a timeout may be longer. A 429 restarts it,
 * because a 429 shows that the service works.
 */
export const next = (
  failures: Failures,
  error: ClientError.AnyClientError,
  {
    now,
    patienceMs,
    random,
  }: { readonly now: number; readonly patienceMs: number; readonly random: number },
): { readonly waitMs: number; readonly failures: Failures } | undefined => {
  const isLimited = error instanceof ClientError.RateLimited
  // After a 409 (request in progress), the back-off does not grow. A longer `Retry-After` still
  // wins.
  const steps = error instanceof ClientError.RequestInProgress ? 0 : failures.count
  const askedMs = "retryAfterMs" in error ? error.retryAfterMs : 0
  const waitMs = Math.max(askedMs, backoffMs(steps, random))
  const since = isLimited || failures.count === 0 ? now : failures.since
  return !error.isTransient || now + waitMs > since + patienceMs
    ? undefined
    : {
        waitMs,
        failures: { count: failures.count + 1, since: isLimited ? now + waitMs : since },
      }
}

/** Exponential back-off with jitter, so that clients do not all retry at the same moment. */
const backoffMs = (failures: number, random: number) =>
  Math.ceil((0.5 + random / 2) * Math.min(longestMs, firstMs * 2 ** failures))

const firstMs = 250
const longestMs = 10_000
