/**
 * Adds a timeout, retries and a circuit breaker to a vendor. Transient failures are retried with
 * exponential back-off and jitter, until the deadline of the request. A retry waits at least as
 * long as the vendor's `Retry-After`.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Deadline from "../Deadline.ts"
import { type MetricsProvider, ProviderError } from "../MetricsProvider.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import type { Target } from "../Target.ts"
import * as CircuitBreaker from "./CircuitBreaker.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"

export interface Options extends CircuitBreaker.Options {
  /** Timeout of each attempt. */
  readonly timeout: Duration.DurationInput
  /** Maximum number of retries after the first attempt. */
  readonly retries: number
}

/**
 * Returns the vendor with timeout, retries and circuit breaker. While the circuit is open, `lookup`
 * fails at once with Unavailable.
 */
export const make = (inner: MetricsProvider["Type"], options: Options): MetricsProvider["Type"] => {
  const meters = Meters.make(inner.name)
  const breaker = CircuitBreaker.make(options)

  const failure = (reason: ProviderError["reason"], detail: string) =>
    new ProviderError({ provider: inner.name, reason, detail })

  const call = (targets: NonEmptyReadonlyArray<Target>) =>
    Effect.flatMap(MonotonicClock.now, (startedAt) => {
      meters.calls(1)
      return Effect.ensuring(
        inner.lookup(targets),
        Effect.map(MonotonicClock.now, (now) => meters.callSeconds((now - startedAt) / 1000)),
      )
    }).pipe(
      Effect.timeoutFail({
        duration: options.timeout,
        onTimeout: () => failure("Timeout", "no answer in time"),
      }),
      Effect.tapBoth({
        onSuccess: (outcomes) =>
          Effect.sync(() => {
            const rows = outcomes.filter(({ _tag }) => _tag === "Checked").length
            meters.outcomes(rows, outcomes.length - rows)
          }),
        onFailure: ({ message, reason }) => {
          meters.failedCalls(reason)
          return Effect.logWarning(
            "A call to the provider failed. If this message repeats, run 'authority doctor'.",
            message,
          )
        },
      }),
      breaker.guard,
    )

  /** Calls the vendor and retries until `deadline`, in milliseconds of `MonotonicClock`. */
  const callUntil = (targets: NonEmptyReadonlyArray<Target>, deadline: number) =>
    Effect.retry(call(targets), {
      times: options.retries,
      while: isTransient,
      schedule: Schedule.whileOutputEffect(backOff, (wait) =>
        Effect.map(MonotonicClock.now, (now) => now + Duration.toMillis(wait) < deadline),
      ),
    })

  return {
    ...inner,
    circuits: Effect.map(breaker.openReason, (openReason) => [
      { provider: inner.name, openReason },
    ]),
    lookup: (targets) =>
      Effect.zipWith(MonotonicClock.now, Deadline.remainingMs, (now, ms) => now + ms).pipe(
        Effect.flatMap((deadline) => callUntil(targets, deadline)),
        Effect.catchTag("CircuitOpen", ({ message }) =>
          failure("Unavailable", `not asked, because ${message}`),
        ),
        Effect.tapError(() => Effect.sync(() => meters.outcomes(0, targets.length))),
      ),
  }
}

type CallError = ProviderError | CircuitBreaker.CircuitOpen

/**
 * Doubles the wait after each retry, with jitter. Waits at least as long as the vendor's
 * `Retry-After`. The schedule's output is the length of the wait.
 */
const backOff: Schedule.Schedule<Duration.Duration, CallError> = Schedule.exponential(
  "250 millis",
).pipe(
  Schedule.jitteredWith({ min: 0.5, max: 1 }),
  Schedule.zipRight(Schedule.identity<CallError>()),
  Schedule.modifyDelay((error, wait) =>
    Math.round(Math.max(Duration.toMillis(wait), retryAfterMsOf(error))),
  ),
  Schedule.delays,
)

const retryAfterMsOf = (error: CallError) =>
  error._tag === "ProviderError" ? Duration.toMillis(error.retryAfter ?? 0) : 0

/**
 * True when a retry may succeed. A refused call would be refused again, and a malformed answer
 * would be malformed again.
 */
const isTransient = (error: CallError) =>
  error._tag === "ProviderError" && error.reason !== "Refused" && error.reason !== "Malformed"
