/** Ends the holds and idempotency keys whose owners are gone, whichever process they were. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { CreditLedger } from "../CreditLedger.ts"

export const layer = Layer.scopedDiscard(
  Effect.flatMap(CreditLedger, ({ expire }) =>
    expire.pipe(
      Effect.tap((count) =>
        count === 0 ? Effect.void : Effect.logWarning(`Returned ${count} holds left behind.`),
      ),
      Effect.catchAllCause((cause) => Effect.logError("The sweep failed; it goes on.", cause)),
      Effect.repeat(Schedule.spaced("5 seconds")),
      // Not during the start, which has other work.
      Effect.delay("1 second"),
      Effect.forkScoped,
    ),
  ),
)
