import * as Data from "effect/Data"

/**
 * The store did not answer in time for the current request. `mayCharge` is true when a charge of
 * the request may still be committed. Otherwise nothing is charged.
 */
export class StoreTimeout extends Data.TaggedError("StoreTimeout")<{
  readonly mayCharge: boolean
}> {
  override get message() {
    return "the database did not answer in time"
  }
}
