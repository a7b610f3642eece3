import { setImmediate } from "node:timers/promises"
import * as Effect from "effect/Effect"

/** Waits for the next turn of the event loop, so that long work does not block the process. */
export const letOthersRun = Effect.promise(() => setImmediate())
