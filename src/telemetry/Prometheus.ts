/** Renders all metrics of the process in the Prometheus text format, version 0.0.4. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import type * as MetricPair from "effect/MetricPair"
import * as Option from "effect/Option"

export const contentType = "text/plain; version=0.0.4; charset=utf-8"

/** Gauges of the process, measured at each scrape. */
const processGauges = (eventLoopDelay: ReturnType<typeof monitorEventLoopDelay>): string => {
  const { heapUsed, rss } = process.memoryUsage()
  // The histogram includes the timer's own interval, so subtract it.
  const lag = Math.max(0, eventLoopDelay.mean / 1e9 - resolutionMs / 1000)
  eventLoopDelay.reset()
  return [
    gauge("process_resident_memory_bytes", "resident memory", rss),
    gauge("nodejs_heap_size_used_bytes", "used JavaScript heap memory", heapUsed),
    gauge(
      "nodejs_eventloop_lag_mean_seconds",
      "mean event loop delay since the last scrape",
      Number.isFinite(lag) ? lag : 0,
    ),
    gauge(
      "process_start_time_seconds",
      "start of the process, in seconds since 1970",
      performance.timeOrigin / 1000,
    ),
  ].join("")
}

const gauge = (name: string, help: string, value: number) =>
  `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`

/** Sampling interval of the event loop delay, in milliseconds. */
const resolutionMs = 20

/** Starts to sample the event loop delay. Returns a function that renders the text. */
export const make = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const eventLoopDelay = monitorEventLoopDelay({ resolution: resolutionMs })
      eventLoopDelay.enable()
      return eventLoopDelay
    }),
    (eventLoopDelay) => Effect.sync(() => eventLoopDelay.disable()),
  ),
  (eventLoopDelay) => () => metrics() + processGauges(eventLoopDelay),
)

const metrics = (): string => {
  const families = new Map<string, Array<MetricPair.MetricPair.Untyped>>()
  for (const pair of Metric.unsafeSnapshot()) {
    const family = families.get(pair.metricKey.name)
    if (family === undefined) families.set(pair.metricKey.name, [pair])
    else family.push(pair)
  }
  return [...families].map(([name, pairs]) => familyText(name, pairs)).join("")
}

const familyText = (name: string, pairs: ReadonlyArray<MetricPair.MetricPair.Untyped>): string => {
  const [first] = pairs
  if (first === undefined) return ""
  const kind = kindOf(first.metricState)
  if (kind === undefined) return ""
  const help = Option.getOrElse(first.metricKey.description, () => name)
  return [
    `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
    `# TYPE ${name} ${kind}`,
    ...pairs.flatMap(samples),
    "",
  ].join("\n")
}

const kindOf = (state: MetricState.MetricState.Untyped) =>
  MetricState.isCounterState(state)
    ? "counter"
    : MetricState.isGaugeState(state)
      ? "gauge"
      : MetricState.isHistogramState(state)
        ? "histogram"
        : undefined

const samples = ({ metricKey, metricState }: MetricPair.MetricPair.Untyped): Array<string> => {
  const { name } = metricKey
  const labels = metricKey.tags.map(({ key, value }) => [key, value] as const)
  if (MetricState.isCounterState(metricState)) {
    return [`${name}${labelText(labels)} ${metricState.count}`]
  }
  if (MetricState.isGaugeState(metricState)) {
    return [`${name}${labelText(labels)} ${metricState.value}`]
  }
  if (MetricState.isHistogramState(metricState)) {
    const buckets = metricState.buckets
      .filter(([bound]) => Number.isFinite(bound))
      .map(
        ([bound, count]) => `${name}_bucket${labelText([...labels, ["le", `${bound}`]])} ${count}`,
      )
    return [
      ...buckets,
      `${name}_bucket${labelText([...labels, ["le", "+Inf"]])} ${metricState.count}`,
      `${name}_sum${labelText(labels)} ${metricState.sum}`,
      `${name}_count${labelText(labels)} ${metricState.count}`,
    ]
  }
  return []
}

const labelText = (labels: ReadonlyArray<readonly [string, string]>): string =>
  labels.length === 0
    ? ""
    : `{${labels.map(([key, value]) => `${key}="${escaped(value)}"`).join(",")}}`

const escaped = (value: string) =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
