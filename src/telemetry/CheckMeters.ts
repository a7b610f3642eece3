/** Counts the answered URLs by outcome, in the metric `authority_checks`. */
import * as MetricKey from "effect/MetricKey"
import type { FailureReason } from "../Metrics.ts"
import type { Report } from "../Report.ts"
import * as Meter from "./Meter.ts"

const checks = MetricKey.counter("authority_checks", {
  description: "answered URLs by outcome, without replays",
  incremental: true,
})

const counterOf = (outcome: string) => Meter.series(checks, { outcome })

const checked = counterOf("checked")

const failed: Readonly<Record<FailureReason, (count: number) => void>> = {
  INVALID_URL: counterOf("INVALID_URL"),
  PROVIDER_ERROR: counterOf("PROVIDER_ERROR"),
  SERVER_ERROR: counterOf("SERVER_ERROR"),
}

/** Counts the outcomes of a report. A replay is not counted again. */
export const count = ({ isReplay, outcomes }: Report): void => {
  if (isReplay) return
  let successes = 0
  for (const outcome of outcomes) {
    if (outcome._tag === "Checked") successes++
    else failed[outcome.reason](1)
  }
  if (successes > 0) checked(successes)
}
