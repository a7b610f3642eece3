import * as Schema from "effect/Schema"

/** Names one request from its header `x-request-id` to its line in the statement. */
export const RequestId = Schema.String.pipe(Schema.brand("RequestId"))
export type RequestId = typeof RequestId.Type
