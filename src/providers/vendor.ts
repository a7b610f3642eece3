import * as Layer from "effect/Layer"
import { MetricsProvider, nothingKnown } from "../MetricsProvider.ts"
import { inChunksOf } from "./Chunks.ts"

type Vendor = Omit<MetricsProvider["Type"], "known" | "circuits">

/**
 * Makes a provider without a cache from a vendor. When `batchSize` is set, `lookup` is called with
 * at most `batchSize` targets at a time.
 */
export const vendor = (vendor: Vendor): Layer.Layer<MetricsProvider> => {
  const { batchSize, lookup } = vendor
  return Layer.succeed(MetricsProvider, {
    ...vendor,
    known: nothingKnown,
    lookup: batchSize === undefined ? lookup : inChunksOf(batchSize, lookup),
  })
}
