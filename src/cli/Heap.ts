/**
 * Keeps V8's young generation at 16 MB. V8 of Node 24 lets it grow to 128 MB under load, and the old
 * generation grows with it. Has no effect on Deno.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"

const maxYoungBytes = 16 * 1024 * 1024

/** A running V8 reads no limit of size any more, but reads this factor before each growth. */
const limitGrowth = Effect.sync(() => {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")
  const isFull = young !== undefined && young.space_size >= maxYoungBytes
  setFlagsFromString(`--semi-space-growth-factor=${isFull ? 1 : 2}`)
})

export const layer = Layer.scopedDiscard(
  limitGrowth.pipe(Effect.repeat(Schedule.spaced("20 millis")), Effect.forkScoped),
)
