import * as Data from "effect/Data"

/**
 * The store did not answer in time. If `mayCharge` is true, a commit is still in progress or its
 * result is unknown, so the account may be charged. If `mayCharge` is false, nothing is charged.
 */
export class StoreTimeout extends Data.TaggedError("StoreTimeout")<{
  readonly mayCharge: boolean
}> {
  override get message() {
    return "the database did not answer in time"
  }
}
