/** The port to whether the stores can do their work. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreFailure } from "./StoreFailure.ts"

export interface Stores {
  /** What they are, in words. */
  readonly description: string
  /** Whether they have been through every migration that this program knows. */
  readonly isMigrated: boolean
  /** Why no commit of this process succeeded lately, in words; undefined where one did. */
  readonly trouble: string | undefined
}

export class Health extends Context.Tag("authority/Health")<
  Health,
  {
    /** Fails with StoreFailure when the stores do not answer. */
    readonly stores: Effect.Effect<Stores, StoreFailure>
    /** Writes something and removes it again. Fails with StoreFailure when the stores refuse. */
    readonly write: Effect.Effect<void, StoreFailure>
  }
>() {}
