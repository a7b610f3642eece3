/** The metrics of answers: requests by method, route and status, and checked URLs by outcome. */
import { isHttpMethod } from "@effect/platform/HttpMethod"
import type { Report } from "../../check/Report.ts"
import * as Meter from "../../providers/Meter.ts"

const labels = ["method", "route", "status"]

const requests = Meter.labelled(
  Meter.counter("authority_http_requests", "answered requests"),
  ...labels,
)

const times = Meter.labelled(
  Meter.histogram(
    "authority_http_request_seconds",
    "time from the request headers to the answer, in seconds",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  ),
  ...labels,
)

export const answered = (method: string, route: string, status: number, seconds: number): void => {
  // Unknown methods share a label. Otherwise, a client could create any number of series.
  const values = [isHttpMethod(method) ? method : "other", route, String(status)]
  requests(1, ...values)
  times(seconds, ...values)
}

const checks = Meter.labelled(
  Meter.counter("authority_checks", "answered URLs by outcome, without replays"),
  "outcome",
)

/** Counts the outcomes of a report, but not of a replay, which was counted before. */
export const checked = ({ isReplay, outcomes }: Report): void => {
  if (isReplay) return
  for (const outcome of outcomes) {
    checks(1, outcome._tag === "Checked" ? "checked" : outcome.reason)
  }
}
