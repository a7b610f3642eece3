import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import type * as Tracer from "effect/Tracer"
import * as Fiberless from "./Fiberless.ts"

/**
 * A span around what `evaluate` gives, where somebody listens. Where nobody does there is nothing, not
 * even the empty span that Effect would make, provide and end: on the way of every request those cost
 * more than the rest.
 */
export const named = <A, E, R>(
  name: string,
  evaluate: () => Effect.Effect<A, E, R>,
  options?: Tracer.SpanOptions,
): Effect.Effect<A, E, R> =>
  Fiberless.suspend(evaluate, () =>
    Effect.withFiberRuntime((fiber) =>
      fiber.getFiberRef(FiberRef.currentTracerEnabled)
        ? Effect.withSpan(Effect.suspend(evaluate), name, options)
        : evaluate(),
    ),
  )
