import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/**
 * The store failed: for example it is full, locked, missing or damaged. Its callers cannot repair
 * it, so its methods die with this error as a defect. Only the methods of `Health` fail with it as
 * a typed error, because their callers report the state of the store. `message` says what to do: a
 * command prints it, and the HTTP API answers with status 500.
 */
export class StoreFailure extends Data.TaggedError("StoreFailure")<{
  readonly message: string
  readonly cause?: unknown
  /** True when the answer to a commit was lost, so the change may or may not be committed. */
  readonly isUndecided?: boolean
}> {}

/** Turns a StoreFailure defect into a typed error. Other defects stay defects. */
export const failWithStoreFailure = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E | StoreFailure, R> =>
  Effect.catchAllDefect(effect, (defect) =>
    defect instanceof StoreFailure ? defect : Effect.die(defect),
  )
