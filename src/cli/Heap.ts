/**
 * Limits V8's heap: the young generation (new objects) to 16 MB, the old generation to twice the
 * live data. By default, V8 of Node 24 lets the young generation grow to 128 MB under load, and the
 * old generation to four times the live data. This module has no effect on Deno.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"

const maxYoungBytes = 16 * 1024 * 1024

/**
 * Stops the growth of the young generation at `maxYoungBytes`. Sets the growth factor, which V8
 * reads before each growth, because a running V8 ignores a new size limit.
 */
const limitYoungGrowth = Effect.sync(() => {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")
  const isFull = young !== undefined && young.space_size >= maxYoungBytes
  setFlagsFromString(`--semi-space-growth-factor=${isFull ? 1 : 2}`)
})

/** Lets the old generation grow by at most 100 % after each garbage collection. */
const limitOldGrowth = Effect.sync(() => setFlagsFromString("--heap-growing-percent=100"))

export const layer = Layer.scopedDiscard(
  Effect.zipRight(
    limitOldGrowth,
    limitYoungGrowth.pipe(Effect.repeat(Schedule.spaced("20 millis")), Effect.forkScoped),
  ),
)
