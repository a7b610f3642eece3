import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as FigureHistory from "../../src/FigureHistory.ts"
import * as MemoryMetricsCache from "../../src/memory/MetricsCache.ts"

/** The history of the figures in a store, which is empty by default. */
export const figureHistory = (figures = MemoryMetricsCache.layer, cacheTtl = Duration.days(1)) =>
  FigureHistory.layer({ kept: Duration.days(730), cacheTtl }).pipe(Layer.provide(figures))
