/**
 * Effect keeps every fiber that has no parent in one `Set` until it ends, to tell of them when it is
 * asked for `Fiber.roots`. A set that fills and empties all the time moves from table to table, each
 * linked to the next: once one of them is in V8's old generation, so is soon all that was ever in the
 * next ones, and what a request leaves behind waits for a major collection. Nobody asks for the roots
 * here, and without them collecting garbage takes the service half the time.
 */
import * as Effect from "effect/Effect"
import { globalValue } from "effect/GlobalValue"

/** From now on, for all of the process. */
export const forget = Effect.sync(() => {
  const scope = globalValue(Symbol.for("effect/FiberScope/Global"), () => ({ add: keepNothing }))
  scope.add = keepNothing
})

const keepNothing = () => {}
