/**
 * Traces, metrics and logs by OTLP, where the settings name a receiver; otherwise nothing is traced
 * and nothing of it is loaded.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as Settings from "../Settings.ts"
import { version } from "./version.ts"

export const layer = Effect.flatMap(Settings.Settings, ({ otlpEndpoint, otelServiceName }) =>
  otlpEndpoint === undefined
    ? Effect.succeed(
        // What fibers do inside is of no use to an operator, and is counted several times a request.
        Layer.mergeAll(Layer.setTracerEnabled(false), RuntimeFlags.disableRuntimeMetrics),
      )
    : Effect.promise(async () => {
        const Otlp = await import("@effect/opentelemetry/Otlp")
        const FetchHttpClient = await import("@effect/platform/FetchHttpClient")
        return Otlp.layerJson({
          baseUrl: otlpEndpoint,
          resource: { serviceName: otelServiceName, serviceVersion: version },
          shutdownTimeout: "3 seconds",
        }).pipe(Layer.provide(FetchHttpClient.layer))
      }),
).pipe(Layer.unwrapEffect)
