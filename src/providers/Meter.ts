/** Fast updates for metrics that change with every request. */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import type * as MetricKeyType from "effect/MetricKeyType"
import * as MetricLabel from "effect/MetricLabel"

type Key = MetricKey.MetricKey<
  | MetricKeyType.MetricKeyType.Counter<number>
  | MetricKeyType.MetricKeyType.Gauge<number>
  | MetricKeyType.MetricKeyType.Histogram
>

export const counter = (name: string, description: string) =>
  MetricKey.counter(name, { description, incremental: true })

export const gauge = (name: string, description: string) => MetricKey.gauge(name, { description })

export const histogram = (name: string, description: string, bounds: ReadonlyArray<number>) =>
  MetricKey.histogram(name, MetricBoundaries.fromIterable(bounds), description)

/**
 * Returns a function that updates the metric's series with these labels. It is faster than
 * `Metric.tagged`, which builds the labels and looks up the series for every update.
 */
export const series = (key: Key, labels: Readonly<Record<string, string>>) => {
  const tags = Object.entries(labels).map(([name, value]) => MetricLabel.make(name, value))
  const metric = Metric.fromMetricKey(MetricKey.taggedWithLabels(key, tags))
  return (amount: number): void => metric.unsafeUpdate(amount, [])
}

/** Like `series`, for labels whose values differ between updates. Keeps every series. */
export const labelled = (key: Key, ...names: ReadonlyArray<string>) => {
  const known = new Map<string, (amount: number) => void>()
  return (amount: number, ...values: ReadonlyArray<string>): void => {
    const id = values.join(" ")
    let update = known.get(id)
    if (update === undefined) {
      update = series(key, Object.fromEntries(names.map((name, i) => [name, values[i] ?? ""])))
      known.set(id, update)
    }
    update(amount)
  }
}
