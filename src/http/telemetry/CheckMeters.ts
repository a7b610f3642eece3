/** Counts the answered URLs by outcome, in the metric `authority_checks`. */
import type { Report } from "../../check/Report.ts"
import * as Meter from "../../providers/Meter.ts"

const checks = Meter.labelled(
  Meter.counter("authority_checks", "answered URLs by outcome, without replays"),
  "outcome",
)

/** Counts the outcomes of a report. A replay is not counted again. */
export const count = ({ isReplay, outcomes }: Report): void => {
  if (isReplay) return
  for (const outcome of outcomes) {
    checks(1, outcome._tag === "Checked" ? "checked" : outcome.reason)
  }
}
