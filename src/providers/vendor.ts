import * as Layer from "effect/Layer"
import { MetricsProvider, nothingKnown } from "../MetricsProvider.ts"
import { inChunksOf } from "./Chunks.ts"

type Vendor = Omit<MetricsProvider["Type"], "known" | "circuits">

/**
 * Makes a provider without a cache from a vendor. With a `batchSize`, `lookup` gets at most that
 * many targets per call.
 */
export const vendor = (vendor: Vendor): Layer.Layer<MetricsProvider> => {
  const { batchSize, lookup } = vendor
  return Layer.succeed(MetricsProvider, {
    ...vendor,
    known: nothingKnown,
    lookup: batchSize === undefined ? lookup : inChunksOf(batchSize, lookup),
  })
}
