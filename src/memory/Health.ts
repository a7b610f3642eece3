/** Health of the in-memory stores: always good. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Health } from "../Health.ts"

export const layer: Layer.Layer<Health> = Layer.succeed(Health, {
  stores: Effect.succeed({ description: "memory", isMigrated: true, trouble: undefined }),
  write: Effect.void,
})
