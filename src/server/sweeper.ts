/**
 * Every second, releases holds whose lease has ended, such as those of a killed process, and
 * deletes expired idempotency keys.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { logOnce } from "../providers/logOnce.ts"

export const layer = Layer.scopedDiscard(
  Effect.flatMap(CreditLedger, ({ expire }) =>
    expire.pipe(
      Effect.tap((count) =>
        count === 0
          ? Effect.void
          : Effect.logWarning(
              `Returned the held credits of unfinished requests. Number of requests: ${count}. This is normal after a process was killed.`,
            ),
      ),
      logOnce((cause) =>
        Effect.logError(
          "The held credits of unfinished requests cannot be returned now. The service tries again every second. To check the database, run 'authority doctor'.",
          cause,
        ),
      ),
      Effect.catchAllCause(() => Effect.void),
      Effect.repeat(Schedule.spaced("1 second")),
      // Waits 100 ms, so that this work does not slow the start of the process.
      Effect.delay("100 millis"),
      Effect.forkScoped,
    ),
  ),
)
