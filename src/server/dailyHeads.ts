/** Logs the digest of the ledger's heads after the start and then once a day. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Head from "../ledger/Head.ts"
import { heads } from "../sql/Heads.ts"

export const layer = Head.digest(heads).pipe(
  Effect.flatMap(({ accounts, digest }) =>
    Effect.logInfo(
      `The heads of the ledger have the SHA-256 digest ${digest}; accounts: ${accounts}.`,
    ),
  ),
  Effect.catchAllCause((cause) =>
    Effect.logWarning(
      "The heads of the ledger cannot be read. To check the database, run 'authority doctor'.",
      cause,
    ),
  ),
  Effect.repeat(Schedule.spaced("1 day")),
  // Does not slow the start.
  Effect.delay("2 seconds"),
  Effect.forkScoped,
  Layer.scopedDiscard,
)
