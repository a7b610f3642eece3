/**
 * Gives each call to a vendor a timeout, and measures the call. Nothing else counts in that time: no
 * wait in the queue, and no commit that records the call.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type MetricsProvider, ProviderError } from "../MetricsProvider.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"
import * as Alarms from "../time/Alarms.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import type { CallLog } from "./CallLog.ts"
import type { Limit } from "./Limit.ts"

export interface Options {
  readonly timeout: Duration.DurationInput
  readonly alarms: Alarms.Alarms
  readonly limit: Limit
  readonly log: CallLog
}

/** Returns the vendor with a timeout. A call that takes longer fails with the reason Timeout. */
export const make = (inner: MetricsProvider["Type"], options: Options): MetricsProvider["Type"] => {
  const { alarms, limit, log } = options
  const meters = Meters.make(inner.name)
  const timeoutMs = Duration.toMillis(options.timeout)
  const timedOut = Effect.suspend(
    () =>
      new ProviderError({
        provider: inner.name,
        reason: "Timeout",
        detail: "no answer in time",
      }),
  )
  const failed = ({ reason }: ProviderError, startedAt: number, now: number) => {
    meters.failedCalls(reason)
    if (reason === "Throttled") limit.throttled(startedAt, now)
    if (reason === "Timeout") limit.answered(startedAt, now)
  }

  return {
    ...inner,
    lookup: (targets) =>
      Effect.flatMap(MonotonicClock.now, (startedAt) => {
        meters.calls(1)
        return Effect.ensuring(
          inner.lookup(targets),
          Effect.map(MonotonicClock.now, (now) => {
            meters.callSeconds((now - startedAt) / 1000)
            log.took(now - startedAt)
          }),
        ).pipe(
          Alarms.until(alarms, startedAt + timeoutMs, timedOut),
          Effect.tapBoth({
            onSuccess: () =>
              Effect.map(MonotonicClock.now, (now) => limit.answered(startedAt, now)),
            onFailure: (error) =>
              Effect.map(MonotonicClock.now, (now) => failed(error, startedAt, now)),
          }),
        )
      }),
  }
}
