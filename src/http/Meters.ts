/**
 * What is counted of requests, by method, route and status: `authority_http_requests` and
 * `authority_http_request_seconds`.
 */
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import * as Meter from "../Meter.ts"

const requests = MetricKey.counter("authority_http_requests", {
  description: "requests answered",
  incremental: true,
})

const seconds = MetricKey.histogram(
  "authority_http_request_seconds",
  MetricBoundaries.fromIterable([
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
  ]),
  "from the request's headers to its answer",
)

/** A client can invent methods without end; ours are few. */
const knownMethods = new Set(["GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"])

/** The meter of one endpoint: starts the clock, and what comes back stops it with the status. */
export const make = (method: string, route: string) => {
  const recorderOf = recorders(knownMethods.has(method) ? method : "other", route)
  return () => {
    const startedAt = performance.now()
    return (status: number) => recorderOf(status)((performance.now() - startedAt) / 1000)
  }
}

/** Each is made once, for labels are costly to attach. */
const recorders = (method: string, route: string) => {
  const byStatus = new Map<number, (seconds: number) => void>()
  return (status: number) => {
    const known = byStatus.get(status)
    if (known !== undefined) return known
    const labels = { method, route, status: String(status) }
    const [count, time] = [Meter.series(requests, labels), Meter.series(seconds, labels)]
    const record = (seconds: number) => {
      count(1)
      time(seconds)
    }
    byStatus.set(status, record)
    return record
  }
}
