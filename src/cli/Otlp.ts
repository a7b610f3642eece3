/**
 * Exports traces, metrics and logs by OTLP when the settings name a receiver. Otherwise tracing is
 * off, and the OTLP modules are not loaded.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as FiberRef from "effect/FiberRef"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as RuntimeFlagsPatch from "effect/RuntimeFlagsPatch"
import * as Settings from "../Settings.ts"
import { version } from "./version.ts"

export const layer = Effect.flatMap(Settings.Settings, ({ otlpEndpoint, otelServiceName }) =>
  otlpEndpoint === undefined
    ? Effect.succeed(off)
    : Effect.promise(async () => {
        const Otlp = await import("@effect/opentelemetry/Otlp")
        const OtlpClient = await import("./OtlpClient.ts")
        return Otlp.layerJson({
          baseUrl: otlpEndpoint,
          resource: { serviceName: otelServiceName, serviceVersion: version },
          shutdownTimeout: "3 seconds",
        }).pipe(Layer.provide(OtlpClient.layer))
      }),
).pipe(Layer.unwrapEffect)

/** Turns off tracing and Effect's fiber metrics, because both cost time on every request. */
const off = Layer.scopedDiscard(
  Effect.zipRight(
    Effect.locallyScoped(FiberRef.currentTracerEnabled, false),
    Effect.withRuntimeFlagsPatchScoped(RuntimeFlagsPatch.disable(RuntimeFlags.RuntimeMetrics)),
  ),
)
