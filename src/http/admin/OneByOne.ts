import * as Effect from "effect/Effect"
import { letOthersRun } from "../../ledger/letOthersRun.ts"

export type OneByOne = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Makes a function that runs effects one after another, each in a turn of its own of the event loop.
 * Long answers that were asked for at once would make other requests wait for all of them.
 */
export const make = Effect.map(
  Effect.makeSemaphore(1),
  (semaphore): OneByOne =>
    (effect) =>
      semaphore.withPermits(1)(Effect.zipRight(letOthersRun, effect)),
)
