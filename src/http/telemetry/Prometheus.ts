/** Renders all metrics of the process in the Prometheus text format, version 0.0.4. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import type * as MetricPair from "effect/MetricPair"
import * as MetricKeyType from "effect/MetricKeyType"
import * as Option from "effect/Option"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import { Credits } from "../../ledger/Credits.ts"
import { MetricsProvider } from "../../providers/MetricsProvider.ts"

export const contentType = "text/plain; version=0.0.4; charset=utf-8"

/** Starts to sample the event loop delay. Returns an effect that renders the text of one scrape. */
export const make = Effect.gen(function* () {
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => monitorEventLoopDelay({ resolution: resolutionMs })),
    (delay) => Effect.sync(() => delay.disable()),
  )
  delay.enable()
  const others = Effect.all([yield* circuitGauges, yield* ledgerGauges])
  return Effect.map(others, (texts) => metrics() + texts.join("") + processGauges(delay))
})

const resolutionMs = 20

const processGauges = (delay: ReturnType<typeof monitorEventLoopDelay>): string => {
  const { heapUsed, rss } = process.memoryUsage()
  // Node.js measures the delay with a timer, whose interval is part of each measured value.
  const lag = Math.max(0, delay.mean / 1e9 - resolutionMs / 1000)
  delay.reset()
  return [
    gauge("process_resident_memory_bytes", "resident memory", [[{}, rss]]),
    gauge("nodejs_heap_size_used_bytes", "used JavaScript heap memory", [[{}, heapUsed]]),
    gauge("nodejs_eventloop_lag_mean_seconds", "mean event loop delay since the last scrape", [
      [{}, Number.isFinite(lag) ? lag : 0],
    ]),
    gauge("process_start_time_seconds", "start of the process, in seconds since 1970", [
      [{}, performance.timeOrigin / 1000],
    ]),
  ].join("")
}

/** For each of these amounts, a gauge counts the accounts with fewer credits available. */
const lowAmounts = [1, 10, 100, 1000, 10_000].map((amount) => Credits.make(amount))

/** The ledger's totals as gauges; empty text when the database does not answer. */
const ledgerGauges = Effect.flatMap(CreditLedger, ({ totals }) =>
  totals(lowAmounts).pipe(
    // Ends the scrape at the timeout, even if the database call cannot be interrupted.
    Effect.disconnect,
    Effect.timeout("2 seconds"),
    Effect.map(
      ({ accountsBelow, held }) =>
        gauge("authority_credits_held", "credits held by requests in progress", [[{}, held]]) +
        gauge(
          "authority_accounts_below",
          "accounts with fewer available credits than the label says",
          lowAmounts.map((credits, i) => [{ credits: String(credits) }, accountsBelow[i] ?? 0]),
        ),
    ),
    Effect.catchAllCause(() => Effect.succeed("")),
    // Cached, because the endpoint needs no key and the sums scan every balance.
    Effect.cachedWithTTL("10 seconds"),
  ),
)

const circuitGauges = Effect.map(MetricsProvider, ({ circuits }) =>
  Effect.map(
    circuits,
    (all) =>
      gauge(
        "authority_provider_circuit_open",
        "1 while the provider is not asked because its calls failed, else 0",
        all.map(({ isExhausted, openReason, provider }) => [
          { provider },
          openReason === undefined || isExhausted ? 0 : 1,
        ]),
      ) +
      gauge(
        "authority_provider_exhausted",
        "1 while the provider is not asked because its quota or ceiling is used up, else 0",
        all.map(({ isExhausted, provider }) => [{ provider }, isExhausted ? 1 : 0]),
      ),
  ),
)

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number, suffix?: string]

const family = (type: string, name: string, help: string, samples: ReadonlyArray<Sample>) =>
  samples.length === 0
    ? ""
    : [
        `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(([labels, value, suffix = ""]) => {
          const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`)
          return `${name}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`
        }),
        "",
      ].join("\n")

const gauge = (name: string, help: string, samples: ReadonlyArray<Sample>) =>
  family("gauge", name, help, samples)

const escaped = (value: string) =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")

const metrics = (): string => {
  const families = Arr.groupBy(Metric.unsafeSnapshot(), ({ metricKey }) => metricKey.name)
  return Object.entries(families)
    .map(([metric, pairs]) => {
      const { description, keyType } = pairs[0].metricKey
      // In Prometheus, names of counters end in `_total` by convention, and a counter of Effect
      // that may decrease is a gauge.
      const isCounter = MetricKeyType.isCounterKey(keyType) && keyType.incremental
      const type = MetricKeyType.isHistogramKey(keyType)
        ? "histogram"
        : isCounter
          ? "counter"
          : "gauge"
      const name = isCounter ? `${metric}_total` : metric
      const help = Option.getOrElse(description, () => name)
      return family(type, name, help, pairs.flatMap(samplesOf))
    })
    .join("")
}

/** Returns no samples for a frequency or a summary, which Prometheus represents differently. */
const samplesOf = ({
  metricKey,
  metricState,
}: MetricPair.MetricPair.Untyped): ReadonlyArray<Sample> => {
  const labels = Object.fromEntries(metricKey.tags.map(({ key, value }) => [key, value]))
  if (MetricState.isCounterState(metricState)) return [[labels, Number(metricState.count)]]
  if (MetricState.isGaugeState(metricState)) return [[labels, Number(metricState.value)]]
  if (!MetricState.isHistogramState(metricState)) return []
  const { buckets, count, sum } = metricState
  return [
    ...buckets
      .filter(([bound]) => Number.isFinite(bound))
      .map(([bound, below]): Sample => [{ ...labels, le: `${bound}` }, below, "_bucket"]),
    [{ ...labels, le: "+Inf" }, count, "_bucket"],
    [labels, sum, "_sum"],
    [labels, count, "_count"],
  ]
}
