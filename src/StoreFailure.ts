import * as Data from "effect/Data"

/**
 * The place where things are kept did not do its work: full, locked, gone, damaged. A port's caller
 * cannot mend that, so it is a defect there; the start of the program and the verbs of the command
 * line print `message`, which says what to do, and the interface answers 500.
 */
export class StoreFailure extends Data.TaggedError("StoreFailure")<{
  readonly message: string
  readonly cause?: unknown
  /** True where the change may stand, because the answer to its commit was lost. */
  readonly mayStand?: boolean
}> {}
