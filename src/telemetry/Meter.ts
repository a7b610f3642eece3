/** Metrics that are counted on the way of every request. */
import * as Metric from "effect/Metric"
import * as MetricKey from "effect/MetricKey"
import type * as MetricKeyType from "effect/MetricKeyType"
import * as MetricLabel from "effect/MetricLabel"

type Kind =
  | MetricKeyType.MetricKeyType.Counter<number>
  | MetricKeyType.MetricKeyType.Gauge<number>
  | MetricKeyType.MetricKeyType.Histogram

/**
 * One series of a metric, by its labels: a plain function that counts. `Metric.tagged` puts the
 * labels together anew, and looks the series up, for each single update.
 */
export const series = (
  key: MetricKey.MetricKey<Kind>,
  labels: Readonly<Record<string, string>>,
): ((amount: number) => void) => {
  const metric = Metric.fromMetricKey(
    MetricKey.taggedWithLabels(
      key,
      Object.entries(labels).map(([name, value]) => MetricLabel.make(name, value)),
    ),
  )
  return (amount) => metric.unsafeUpdate(amount, [])
}
