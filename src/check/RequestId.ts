import * as Schema from "effect/Schema"

/** Identifies one request, in the header `x-request-id`, the log and the account's statement. */
export const RequestId = Schema.String.pipe(Schema.brand("RequestId"))
export type RequestId = typeof RequestId.Type
