/** The port (interface) to the state of the stores: whether they answer and accept writes. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreFailure } from "./StoreFailure.ts"

export interface StoreState {
  /** A text for people that names the database and its schema version. */
  readonly description: string
  /** True when every migration of this program has run. */
  readonly isMigrated: boolean
  /** Why this process cannot commit, or its commits will be lost, as text for people. */
  readonly trouble: string | undefined
}

export class Health extends Context.Tag("authority/Health")<
  Health,
  {
    /** Reads the state of the stores. Fails with StoreFailure when the stores do not answer. */
    readonly stores: Effect.Effect<StoreState, StoreFailure>
    /**
     * Writes a test row and deletes it. Fails with StoreFailure when the stores refuse the write.
     */
    readonly write: Effect.Effect<void, StoreFailure>
  }
>() {}
