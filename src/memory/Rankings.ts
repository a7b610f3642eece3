/** In-memory implementation of the port Rankings, for tests. Nothing survives the process. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Rankings } from "../dataset/Rankings.ts"

export const layer: Layer.Layer<Rankings> = Layer.sync(Rankings, () => {
  let current: ReadonlyMap<string, number> = new Map()
  return Rankings.of({
    ranks: (names) =>
      Effect.sync(
        () =>
          new Map(
            names.flatMap((name) => {
              const rank = current.get(name)
              return rank === undefined ? [] : [[name, rank]]
            }),
          ),
      ),
    replace: (rows) =>
      Stream.runFold(rows, new Map<string, number>(), (list, some) => {
        for (const { name, rank } of some) {
          list.set(name, Math.min(rank, list.get(name) ?? rank))
        }
        return list
      }).pipe(Effect.map((list) => void (current = list))),
  })
})
