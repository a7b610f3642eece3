import * as Data from "effect/Data"

/**
 * The store did not answer in time. `mayCharge` is true when the commit of a charge is undecided:
 * the account may be charged later. Otherwise nothing is charged.
 */
export class StoreTimeout extends Data.TaggedError("StoreTimeout")<{
  readonly mayCharge: boolean
}> {
  override get message() {
    return "the database did not answer in time"
  }
}
