import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"

/**
 * A span where somebody listens. Where nobody does there is nothing, not even the empty span that
 * Effect would make, provide and end: on the way of every request those cost more than the rest.
 */
export const named =
  (name: string) =>
  <A, E>(self: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.withFiberRuntime((fiber) =>
      fiber.getFiberRef(FiberRef.currentTracerEnabled) ? Effect.withSpan(self, name) : self,
    )
