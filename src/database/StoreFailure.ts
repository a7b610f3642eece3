import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/**
 * The store failed: for example it is full, locked, missing or damaged. A caller cannot repair the
 * store, so methods of the stores die with this error as a defect. Exception: the methods of
 * `Health` fail with it as a typed error, because their callers report the state of the store.
 * `message` says what to do. A command that fails prints `message`; the HTTP API answers with
 * status 500.
 */
export class StoreFailure extends Data.TaggedError("StoreFailure")<{
  readonly message: string
  readonly cause?: unknown
  /** True when the answer to the commit was lost: the change may be committed or not. */
  readonly isUndecided?: boolean
}> {}

/** Turns a StoreFailure that is a defect into a typed error. Other defects stay. */
export const failWithStoreFailure = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E | StoreFailure, R> =>
  Effect.catchAllDefect(effect, (defect) =>
    defect instanceof StoreFailure ? defect : Effect.die(defect),
  )
