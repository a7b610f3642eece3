/**
 * Exports traces, metrics and logs by OTLP when the settings name a receiver. Otherwise tracing is
 * off, and the OTLP modules are not loaded.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as RuntimeFlagsPatch from "effect/RuntimeFlagsPatch"
import * as Settings from "../Settings.ts"
import { version } from "./version.ts"

export const layer = Effect.flatMap(Settings.Settings, ({ otlpEndpoint, otelServiceName }) =>
  otlpEndpoint === undefined
    ? Effect.succeed(off)
    : Effect.promise(async () => {
        const Otlp = await import("@effect/opentelemetry/Otlp")
        const HttpClient = await import("@effect/platform/HttpClient")
        const FetchHttpClient = await import("@effect/platform/FetchHttpClient")
        const client = Effect.map(HttpClient.HttpClient, (client) =>
          HttpClient.transformResponse(client, (response) =>
            response.pipe(
              // Without a timeout, exports to a receiver that hangs would fill the memory.
              Effect.timeoutFailCause({ duration: "5 seconds", onTimeout: () => timedOut }),
              Effect.tapErrorCause(() => Metric.increment(dropped)),
            ),
          ),
        )
        return Otlp.layerJson({
          baseUrl: otlpEndpoint,
          resource: { serviceName: otelServiceName, serviceVersion: version },
          shutdownTimeout: "3 seconds",
        }).pipe(
          Layer.provide(Layer.effect(HttpClient.HttpClient, client)),
          Layer.provide(FetchHttpClient.layer),
        )
      }),
).pipe(Layer.unwrapEffect)

const timedOut = Cause.die("The receiver of telemetry does not answer.")

const dropped = Metric.counter("authority_otlp_dropped_exports", {
  description: "exports of telemetry that failed",
  incremental: true,
})

/** Turns off tracing and Effect's fiber metrics, because both cost time on every request. */
const off = Layer.scopedDiscard(
  Effect.zipRight(
    Effect.locallyScoped(FiberRef.currentTracerEnabled, false),
    Effect.withRuntimeFlagsPatchScoped(RuntimeFlagsPatch.disable(RuntimeFlags.RuntimeMetrics)),
  ),
)
