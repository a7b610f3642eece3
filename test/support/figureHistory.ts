import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as FigureHistory from "../../src/FigureHistory.ts"
import * as MemoryMetricsCache from "../../src/memory/MetricsCache.ts"

/** The history of the figures in a store, which is empty by default. */
export const figureHistory = (figures = MemoryMetricsCache.layer) =>
  FigureHistory.layer({ kept: Duration.days(730), cacheTtl: Duration.hours(1) }).pipe(
    Layer.provide(figures),
  )
