/**
 * Adds a timeout, retries and a circuit breaker to a vendor. Transient failures are retried with
 * exponential back-off and jitter, until the deadline of the request. A retry waits at least as
 * long as the vendor's `Retry-After`.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Deadline from "../Deadline.ts"
import type { Outcome } from "../Metrics.ts"
import { type MetricsProvider, ProviderError } from "../MetricsProvider.ts"
import * as Stopwatch from "../telemetry/Stopwatch.ts"
import type { Target } from "../Target.ts"
import * as CircuitBreaker from "./CircuitBreaker.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"

export interface Options extends CircuitBreaker.Options {
  /** Timeout of one call. */
  readonly timeout: Duration.DurationInput
  /** Maximum number of retries of one call. */
  readonly retries: number
}

/** Decorates one vendor. While the circuit is open, `lookup` fails at once with Unavailable. */
export const make = (inner: MetricsProvider["Type"], options: Options): MetricsProvider["Type"] => {
  const meters = Meters.make(inner.name)
  const breaker = CircuitBreaker.make(options)

  const failure = (reason: ProviderError["reason"], detail: string) =>
    new ProviderError({ provider: inner.name, reason, detail })

  const call = (targets: NonEmptyReadonlyArray<Target>) =>
    Effect.suspend(() => {
      meters.calls(1)
      const startedAt = performance.now()
      return Effect.ensuring(
        inner.lookup(targets),
        Effect.sync(() => meters.callSeconds((performance.now() - startedAt) / 1000)),
      )
    }).pipe(
      Effect.timeoutFail({
        duration: options.timeout,
        onTimeout: () =>
          new ProviderError({
            provider: inner.name,
            reason: "Timeout",
            detail: "no answer in time",
          }),
      }),
      Effect.tapBoth({
        onSuccess: (outcomes) =>
          Effect.sync(() => {
            const rows = outcomes.filter(({ _tag }) => _tag === "Checked").length
            meters.outcomes(rows, outcomes.length - rows)
          }),
        onFailure: ({ message, reason }) => {
          meters.failedCalls(reason)
          return Effect.logWarning("A call to the provider failed.", message)
        },
      }),
      breaker.guard,
    )

  /** `deadline` is a stopwatch time in milliseconds. */
  const attempt = (
    targets: NonEmptyReadonlyArray<Target>,
    retries: number,
    deadline: number,
  ): Effect.Effect<ReadonlyArray<Outcome>, ProviderError | CircuitBreaker.CircuitOpen> =>
    Effect.catchTag(call(targets), "ProviderError", (error) =>
      Effect.gen(function* () {
        const jitter = yield* Random.nextRange(0.5, 1)
        const waitMs = Math.max(
          Math.round(firstWaitMs * 2 ** retries * jitter),
          Duration.toMillis(error.retryAfter ?? 0),
        )
        const isTooLate = (yield* Stopwatch.now) + waitMs >= deadline
        if (retries >= options.retries || !mayPass(error) || isTooLate) return yield* error
        yield* Effect.sleep(waitMs)
        return yield* attempt(targets, retries + 1, deadline)
      }),
    )

  return {
    ...inner,
    circuits: Effect.map(breaker.openReason, (openReason) => [
      { provider: inner.name, openReason },
    ]),
    lookup: (targets) =>
      Effect.zipWith(Stopwatch.now, Deadline.remainingMs, (now, ms) => now + ms).pipe(
        Effect.flatMap((deadline) => attempt(targets, 0, deadline)),
        Effect.catchTag("CircuitOpen", ({ message }) =>
          failure("Unavailable", `not asked: ${message}`),
        ),
        Effect.tapError(() => Effect.sync(() => meters.outcomes(0, targets.length))),
      ),
  }
}

/** Longest back-off before the first retry, in milliseconds. It doubles with each retry. */
const firstWaitMs = 250

/** True for errors that a retry may cure. A refused or malformed answer would come again. */
const mayPass = ({ reason }: ProviderError) => reason !== "Refused" && reason !== "Malformed"
