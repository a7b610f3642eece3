/** The port to whether the stores can do their work. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreFailure } from "./StoreFailure.ts"

export class Health extends Context.Tag("authority/Health")<
  Health,
  {
    /** Says in words what the stores are; fails with StoreFailure when they do not answer. */
    readonly stores: Effect.Effect<string, StoreFailure>
  }
>() {}
