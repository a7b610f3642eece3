import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as FigureHistory from "../../src/providers/figures/FigureHistory.ts"
import * as memory from "./memory.ts"

/** The history of the figures in a store, which is empty by default. */
export const figureHistory = (figures = memory.metricsCache, cacheTtl = Duration.days(1)) =>
  FigureHistory.layer({ kept: Duration.days(730), cacheTtl }).pipe(Layer.provide(figures))
