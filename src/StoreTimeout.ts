import * as Data from "effect/Data"

/**
 * The store gave no answer by the end of the present request. `mayCharge` is true when a charge of
 * the request may still be committed; otherwise nothing is charged.
 */
export class StoreTimeout extends Data.TaggedError("StoreTimeout")<{
  readonly mayCharge: boolean
}> {
  override get message() {
    return "the database did not answer in time"
  }
}
