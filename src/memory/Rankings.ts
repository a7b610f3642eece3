/** In-memory implementation of the port Rankings, for tests. Nothing survives the process. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type Imported, Rankings } from "../dataset/Rankings.ts"

export const layer: Layer.Layer<Rankings> = Layer.sync(Rankings, () => {
  let current: ReadonlyMap<string, number> = new Map()
  let imported = Option.none<Imported>()
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
    current: Effect.sync(() => imported),
    replace: (rows, name) =>
      Stream.runFold(rows, new Map<string, number>(), (list, some) => {
        for (const { name, rank } of some) {
          list.set(name, Math.min(rank, list.get(name) ?? rank))
        }
        return list
      }).pipe(
        Effect.zipWith(Clock.currentTimeMillis, (list, at) => {
          current = list
          imported = Option.some({ name, at })
        }),
      ),
  })
})
