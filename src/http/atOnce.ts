/**
 * What is known already goes on at once: as Effect's own of the same name, but an effect that is no
 * more than its value takes no step of the fiber. Nearly every request comes with a key that is known
 * and a body that is there, and then these steps would cost more than what they do. What goes on is
 * called when the effect is made, so that belongs into a `suspend`.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

export const flatMap = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  f: (value: A) => Effect.Effect<B, E2, R2>,
): Effect.Effect<B, E | E2, R | R2> =>
  isOver(self)
    ? Exit.matchEffect(self, { onSuccess: f, onFailure: Effect.failCause })
    : Effect.flatMap(self, f)

const isOver = <A, E, R>(self: Effect.Effect<A, E, R>): self is Exit.Exit<A, E> => Exit.isExit(self)
