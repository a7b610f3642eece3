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

type Record = (seconds: number) => void

/** Made once for each combination, for labels are costly to attach. */
const recorders = new Map<string, Record>()

const recorder = (method: string, route: string, status: number): Record => {
  const id = `${method} ${route} ${status}`
  const known = recorders.get(id)
  if (known !== undefined) return known
  const labels = { method, route, status: String(status) }
  const [count, time] = [Meter.series(requests, labels), Meter.series(seconds, labels)]
  const record = (seconds: number) => {
    count(1)
    time(seconds)
  }
  recorders.set(id, record)
  return record
}

/** A client can invent methods without end; ours are few. */
const knownMethods = new Set(["GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"])

/** Starts the clock; what comes back stops it. */
export const start = (method: string, route: string) => {
  const startedAt = performance.now()
  return (status: number) =>
    recorder(
      knownMethods.has(method) ? method : "other",
      route,
      status,
    )((performance.now() - startedAt) / 1000)
}
