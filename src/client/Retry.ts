/** Sends a request again when that may help: not at once, and not for ever. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as ClientError from "./ClientError.ts"

export interface Options {
  /** How long the service may keep failing. Zero for a single attempt. */
  readonly patience: Duration.DurationInput
  /** Is told of each failure that is not the end, and of the wait that follows. */
  readonly onRetry: (error: ClientError.AnyClientError, waitMs: number) => Effect.Effect<void>
}

/**
 * Waits a little longer after each failure, and as long as the service asks for. A rate limit begins
 * the patience anew, because the service is well. A request in progress is no failure that repeats:
 * the wait for its answer does not grow.
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

/** Not all clients of a service that comes back shall ask in the same moment. */
const backoffMs = (failures: number) =>
  Effect.map(Random.nextRange(0.5, 1), (share) =>
    Math.ceil(share * Math.min(longestMs, firstMs * 2 ** failures)),
  )

const firstMs = 250
const longestMs = 10_000
