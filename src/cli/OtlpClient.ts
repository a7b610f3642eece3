/**
 * The HTTP client of the OTLP exports, with bounded memory: each export has a timeout, and few wait
 * for the receiver at a time. Others are dropped and counted; the library then rests for a minute.
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { RequestError } from "@effect/platform/HttpClientError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"

const timeout = "5 seconds"
const maxWaiting = 4

const dropped = Metric.counter("authority_otlp_dropped_exports", {
  description: "exports of telemetry that failed or were dropped, because the receiver is slow",
  incremental: true,
})

/** Limits how many requests of the client wait, and for how long. */
export const bounded = (client: HttpClient.HttpClient): HttpClient.HttpClient => {
  let waiting = 0
  return HttpClient.transform(client, (send, request) =>
    Effect.suspend(() => {
      if (waiting >= maxWaiting) return Effect.dieMessage("Too many exports of telemetry wait.")
      waiting += 1
      return send.pipe(
        Effect.timeoutFail({
          duration: timeout,
          onTimeout: () => new RequestError({ request, reason: "Transport" }),
        }),
        Effect.ensuring(Effect.sync(() => void (waiting -= 1))),
      )
    }).pipe(Effect.tapErrorCause(() => Metric.increment(dropped))),
  )
}

export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, bounded),
).pipe(Layer.provide(FetchHttpClient.layer))
