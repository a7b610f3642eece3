/** Ends the holds, and frees the idempotency keys, of processes that are gone. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { CreditLedger } from "../CreditLedger.ts"

export const layer = Layer.scopedDiscard(
  Effect.flatMap(CreditLedger, ({ expire }) => {
    let isFailing = false
    return expire.pipe(
      Effect.matchCauseEffect({
        onSuccess: (count) => {
          isFailing = false
          return count === 0
            ? Effect.void
            : Effect.logWarning(`Returned ${count} holds left behind.`)
        },
        onFailure: (cause) => {
          const isKnown = isFailing
          isFailing = true
          return isKnown ? Effect.void : Effect.logError("The sweep failed; it goes on.", cause)
        },
      }),
      Effect.repeat(Schedule.spaced("1 second")),
      // Not during the start, which has other work.
      Effect.delay("100 millis"),
      Effect.forkScoped,
    )
  }),
)
