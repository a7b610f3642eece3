import * as Context from "effect/Context"
import { RequestId } from "../LedgerEntry.ts"

/** The id of the request being answered; in the header `x-request-id`, the log and the statement. */
export class CurrentRequestId extends Context.Reference<CurrentRequestId>()(
  "authority/CurrentRequestId",
  { defaultValue: () => RequestId.make("none") },
) {}
