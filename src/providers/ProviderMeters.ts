/** Metrics of each provider, with the label `provider`. The guide's page Monitoring lists them. */
import * as Meter from "./Meter.ts"
import type { FailureCause } from "../check/Metrics.ts"
import type { ProviderError } from "./MetricsProvider.ts"

/** How a field of a vendor's answers differs from the documentation. */
export type Change = "missing" | "new"

/** The meters are plain functions, which are faster than Effects: every cache hit calls one. */
export const make = (provider: string) => {
  const counter = (name: string, description: string, labels = {}) =>
    Meter.series(Meter.counter(`authority_provider_${name}`, description), { provider, ...labels })
  const gauge = (name: string, description: string) =>
    Meter.series(Meter.gauge(`authority_provider_${name}`, description), { provider })
  const inFlight = gauge(
    "calls_in_flight",
    "calls to the vendor that are in flight or wait for their retry",
  )
  const limit = gauge("call_limit", "calls to the vendor that may be in flight now")
  const outcomes = (labels: object) =>
    counter("outcomes", "targets that were sent to the vendor, by outcome", labels)
  const failed = (cause: FailureCause) => outcomes({ outcome: "failed", cause })
  const changed = (change: Change) =>
    counter("changed_fields", "fields of answers that are missing or new", { change })
  return {
    calls: counter("calls", "calls to the vendor, retries included"),
    callSeconds: Meter.series(callSeconds, { provider }),
    callsInFlight: (count: number, allowed: number) => {
      inFlight(count)
      limit(allowed)
    },
    failedCalls: (reason: ProviderError["reason"]) =>
      counter("failed_calls", "calls to the vendor that failed", { reason })(1),
    cacheHits: counter("cache_hits", "targets answered from the cache"),
    cacheMisses: counter("cache_misses", "targets that were not in the cache"),
    coalesced: counter("coalesced", "targets that joined a lookup in progress for the same target"),
    // Checked targets. `checked` and `failed` count only targets that were sent to the vendor.
    checked: outcomes({ outcome: "checked" }),
    failed: {
      unknown: failed("unknown"),
      failed: failed("failed"),
      timeout: failed("timeout"),
      exhausted: failed("exhausted"),
      invalid: failed("invalid"),
      internal: failed("internal"),
    },
    changedFields: { missing: changed("missing"), new: changed("new") },
    waiting: gauge("waiting", "targets that wait to be sent"),
    rowsBought: counter("rows_bought", "rows that the vendor billed, by its answers"),
    cost: counter("cost", "cost of the calls in the vendor's currency"),
    unknownCalls: counter(
      "unknown_calls",
      "calls that the vendor may have billed without an answer",
    ),
    // Created only for a vendor with a ceiling, so that other vendors have no such gauge.
    ceilingRowsLeft: (count: number) =>
      gauge("ceiling_rows_left", "rows that the ceiling left at the latest call")(count),
  }
}

export type Meters = ReturnType<typeof make>

const callSeconds = Meter.histogram(
  "authority_provider_call_seconds",
  "duration of one call to the vendor, in seconds",
  [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
)
