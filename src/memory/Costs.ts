/** In-memory implementation of the port Costs, for tests. Nothing survives the process. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { daysOf } from "../ledger/Usage.ts"
import { type Cost, Costs, summed } from "../providers/Costs.ts"

export const layer: Layer.Layer<Costs> = Layer.sync(Costs, () => {
  let all: ReadonlyArray<Cost> = []
  return Costs.of({
    add: (costs) =>
      Effect.sync(() => {
        all = summed([...all, ...costs])
      }),
    days: (range) =>
      Effect.sync(() => {
        const [first, last] = daysOf(range)
        return all
          .filter(({ day }) => first <= day && day <= last)
          .toSorted((a, b) => a.day - b.day || (a.provider < b.provider ? -1 : 1))
      }),
  })
})
