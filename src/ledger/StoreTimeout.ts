import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Deadline, waitUntil } from "../check/Deadline.ts"

/**
 * The store did not answer in time. The account may have been charged if `mayCharge` is true: a
 * commit is still in progress or its result is unknown. Otherwise nothing is charged.
 */
export class StoreTimeout extends Data.TaggedError("StoreTimeout")<{
  readonly mayCharge: boolean
}> {
  override get message() {
    return "the database did not answer in time"
  }
}

/** Waits for a read of the store. Fails with StoreTimeout at the Deadline. */
export const inTime = <A, E, R>(
  read: Effect.Effect<A, E, R>,
): Effect.Effect<A, E | StoreTimeout, R> =>
  Effect.flatMap(Deadline, (deadline) => waitUntil(deadline)(read)).pipe(
    Effect.flatMap(
      Option.match({
        onNone: () => Effect.fail(new StoreTimeout({ mayCharge: false })),
        onSome: Effect.succeed,
      }),
    ),
  )
