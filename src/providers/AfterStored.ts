import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { identity } from "effect/Function"

/**
 * Runs an effect when the figures of the current call are stored, where other processes wait for
 * them; else at once. So a purchase is not closed before the figures that it bought are safe.
 */
export class AfterStored extends Context.Reference<AfterStored>()(
  "authority/providers/AfterStored",
  {
    defaultValue: (): ((effect: Effect.Effect<void>) => Effect.Effect<void>) => identity,
  },
) {}
