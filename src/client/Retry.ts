/** Retries a request after a transient failure, with back-off and a time limit. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as ClientError from "./ClientError.ts"

export interface Options {
  /** How long a failing request is retried. Zero for a single attempt. */
  readonly patience: Duration.DurationInput
  /** Called after each failure that will be retried, with the wait before the retry. */
  readonly onRetry: (error: ClientError.AnyClientError, waitMs: number) => Effect.Effect<void>
}

/**
 * Waits for the back-off, or longer when `Retry-After` says so. A 429 restarts the patience,
 * because the service is up. A request in progress (409) is polled at the shortest back-off.
 */
export const retry = <A, R>(
  attempt: Effect.Effect<A, ClientError.AnyClientError, R>,
  { onRetry, patience }: Options,
): Effect.Effect<A, ClientError.AnyClientError, R> => {
  const patienceMs = Duration.toMillis(patience)
  const from = (
    startedAt: number,
    failures: number,
  ): Effect.Effect<A, ClientError.AnyClientError, R> =>
    Effect.catchAll(attempt, (error) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const isLimited = error instanceof ClientError.RateLimited
        const since = isLimited ? now : startedAt
        const isInProgress = error instanceof ClientError.RequestInProgress
        const askedMs = "retryAfterMs" in error ? error.retryAfterMs : 0
        const waitMs = Math.max(askedMs, yield* backoffMs(isInProgress ? 0 : failures))
        if (!error.isTransient || now + waitMs > since + patienceMs) return yield* error
        yield* onRetry(error, waitMs)
        yield* Effect.sleep(waitMs)
        return yield* from(isLimited ? now + waitMs : since, failures + 1)
      }),
    )
  return Effect.flatMap(Clock.currentTimeMillis, (now) => from(now, 0))
}

/** Exponential back-off with jitter, so that clients do not all retry at the same moment. */
const backoffMs = (failures: number) =>
  Effect.map(Random.nextRange(0.5, 1), (share) =>
    Math.ceil(share * Math.min(longestMs, firstMs * 2 ** failures)),
  )

const firstMs = 250
const longestMs = 10_000
