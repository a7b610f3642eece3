/**
 * Keeps a vendor's bad moments from the clients, and the clients' haste from the vendor: each call
 * has a timeout; a failure that may pass is tried again, later each time; a vendor that fails again
 * and again is left alone for a while, and then tried with a single call.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Deadline from "../Deadline.ts"
import type { Outcome } from "../Metrics.ts"
import { type MetricsProvider, ProviderError } from "../MetricsProvider.ts"
import * as Stopwatch from "../Stopwatch.ts"
import type { Target } from "../Target.ts"
import * as CircuitBreaker from "./CircuitBreaker.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"

export interface Options extends CircuitBreaker.Options {
  /** Of one call. */
  readonly timeout: Duration.DurationInput
  /** How often a call is tried again. */
  readonly retries: number
}

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
            meters.rows(rows)
            meters.failedLookups(outcomes.length - rows)
          }),
        onFailure: ({ message, reason }) => {
          meters.failedCalls(reason)
          return Effect.logWarning("A call to the provider failed.", message)
        },
      }),
      breaker.guard,
    )

  /** `deadline`: on the stopwatch. */
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
        Effect.tapError(() => Effect.sync(() => meters.failedLookups(targets.length))),
      ),
  }
}

const firstWaitMs = 250

/** What is refused or makes no sense now will be so again. */
const mayPass = ({ reason }: ProviderError) => reason !== "Refused" && reason !== "Malformed"
