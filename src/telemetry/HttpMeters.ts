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

type Record = (seconds: number) => void

// The functions that record a request, by route, method and status. Making the labels is slow, so
// the labels are made once per series.
const recorders = new Map<string, Map<string, Map<number, Record>>>()

/** Records an answered request. */
export const answered = (method: string, route: string, status: number, seconds: number): void =>
  // Methods that `isHttpMethod` does not accept share the label `other`. Otherwise, a client could
  // create an unlimited number of series.
  recorderOf(isHttpMethod(method) ? method : "other", route, status)(seconds)

const recorderOf = (method: string, route: string, status: number): Record => {
  const byMethod = childOf(recorders, route, () => new Map<string, Map<number, Record>>())
  const byStatus = childOf(byMethod, method, () => new Map<number, Record>())
  return childOf(byStatus, status, () => {
    const labels = { method, route, status: String(status) }
    const [count, time] = [Meter.series(requests, labels), Meter.series(seconds, labels)]
    return (seconds) => {
      count(1)
      time(seconds)
    }
  })
}

const childOf = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
