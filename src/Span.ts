import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import type * as Tracer from "effect/Tracer"

/**
 * Puts a span around the effect of `evaluate` where a tracer listens. Elsewhere it makes nothing: the
 * empty span that Effect would make, provide and end costs more than the rest of a request.
 */
export const named = <A, E, R>(
  name: string,
  evaluate: () => Effect.Effect<A, E, R>,
  options?: Tracer.SpanOptions,
): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) =>
    fiber.getFiberRef(FiberRef.currentTracerEnabled)
      ? Effect.withSpan(Effect.suspend(evaluate), name, options)
      : evaluate(),
  )
