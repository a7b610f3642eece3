/** Plain twin of src/http/CurrentRequest.ts: each id asks the system for its random bytes. */
import { v7 as uuid } from "uuid"
import { RequestId } from "../../../src/RequestId.ts"

export { CurrentRequest, type Current } from "../../../src/http/CurrentRequest.ts"

export const newRequestId = (): RequestId => RequestId.make(uuid(), { disableValidation: true })
