import * as Layer from "effect/Layer"
import { MetricsProvider, nothingKnown } from "../MetricsProvider.ts"
import { inChunksOf } from "./Chunks.ts"

type Vendor = Omit<MetricsProvider["Type"], "known" | "circuits">

/**
 * A vendor without a memory of its own. With a `batchSize`, `lookup` gets at most that many targets
 * at a time.
 */
export const vendor = (vendor: Vendor): Layer.Layer<MetricsProvider> => {
  const { batchSize, lookup } = vendor
  return Layer.succeed(MetricsProvider, {
    ...vendor,
    known: nothingKnown,
    lookup: batchSize === undefined ? lookup : inChunksOf(batchSize, lookup),
  })
}
