/**
 * Measures HTTP requests by method, route and status. The metrics are `authority_http_requests` and
 * `authority_http_request_seconds`.
 */
import { isHttpMethod } from "@effect/platform/HttpMethod"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import * as Meter from "./Meter.ts"

const requests = MetricKey.counter("authority_http_requests", {
  description: "answered requests",
  incremental: true,
})

const seconds = MetricKey.histogram(
  "authority_http_request_seconds",
  MetricBoundaries.fromIterable([
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
  ]),
  "time from the request headers to the answer, in seconds",
)

// The functions that record a request, by status, method and route. Making the labels is slow, so
// the labels are made once per series.
const recorders = new Map<string, (seconds: number) => void>()

/** Records an answered request. */
export const answered = (method: string, route: string, status: number, seconds: number): void => {
  // Methods that `isHttpMethod` does not accept share the label `other`. Otherwise, a client could
  // create an unlimited number of series.
  const known = isHttpMethod(method) ? method : "other"
  const key = `${status} ${known} ${route}`
  let record = recorders.get(key)
  if (record === undefined) {
    record = recorder({ method: known, route, status: String(status) })
    recorders.set(key, record)
  }
  record(seconds)
}

const recorder = (labels: Readonly<Record<string, string>>) => {
  const [count, time] = [Meter.series(requests, labels), Meter.series(seconds, labels)]
  return (seconds: number) => {
    count(1)
    time(seconds)
  }
}
