/** The request in progress. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { AccountKey } from "../accounts/ApiKeys.ts"
import type { Report } from "../check/Report.ts"
import type { RequestId } from "../check/RequestId.ts"

/** The request in progress. `key` and `report` are filled in for the log. */
export class CurrentRequest extends Context.Tag("authority/http/CurrentRequest")<
  CurrentRequest,
  {
    /** Appears in the header `x-request-id`, in the log and in the account's statement. */
    readonly id: RequestId
    key?: AccountKey
    report?: Report
  }
>() {}

/**
 * The request in progress, for handlers and middleware, whose types allow only services of the
 * framework's router. Dies when the server provides no CurrentRequest.
 */
export const currentRequest = Effect.orDie(Effect.serviceOptional(CurrentRequest))
