/**
 * What is counted of each provider, under the label `provider`:
 *
 * - `authority_provider_calls`: calls to the vendor, retries included
 * - `authority_provider_call_seconds`: how long they took
 * - `authority_provider_failed_calls`: those of them that came to nothing, by `reason` too
 * - `authority_provider_rows`: figures that the vendor gave
 * - `authority_provider_cache_hits`: lookups answered from what was kept
 * - `authority_provider_coalesced`: lookups that joined another one for the same target
 * - `authority_provider_failed_lookups`: targets sent to the vendor in vain
 * - `authority_provider_waiting`: targets that wait to be sent, at present
 */
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import * as Meter from "./Meter.ts"
import type { ProviderError } from "../MetricsProvider.ts"

export interface Meters {
  readonly calls: (count: number) => void
  readonly callSeconds: (seconds: number) => void
  readonly failedCalls: (reason: ProviderError["reason"]) => void
  readonly rows: (count: number) => void
  readonly cacheHits: (count: number) => void
  readonly coalesced: (count: number) => void
  readonly failedLookups: (count: number) => void
  readonly waiting: (count: number) => void
}

/** Counting is a plain call, not an Effect, for it stands on the path of every cached figure. */
export const make = (provider: string): Meters => {
  const counter = (name: string, description: string, labels = {}) => {
    const key = MetricKey.counter(`authority_provider_${name}`, { description, incremental: true })
    return Meter.series(key, { provider, ...labels })
  }
  const waiting = MetricKey.gauge("authority_provider_waiting", {
    description: "targets that wait to be sent",
  })
  return {
    calls: counter("calls", "calls to the vendor, retries included"),
    callSeconds: Meter.series(callSeconds, { provider }),
    failedCalls: (reason) =>
      counter("failed_calls", "calls to the vendor that came to nothing", { reason })(1),
    rows: counter("rows", "figures that the vendor gave"),
    cacheHits: counter("cache_hits", "lookups answered from what was kept"),
    coalesced: counter("coalesced", "lookups that joined another one for the same target"),
    failedLookups: counter("failed_lookups", "targets sent to the vendor in vain"),
    waiting: Meter.series(waiting, { provider }),
  }
}

const callSeconds = MetricKey.histogram(
  "authority_provider_call_seconds",
  MetricBoundaries.fromIterable([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]),
  "how long one call to the vendor took",
)
