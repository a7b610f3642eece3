/**
 * The plain code that the ablation benchmark puts in place of src/http/CurrentRequest.ts: it asks
 * the system for random bytes for every id.
 */
import { v7 as uuid } from "uuid"
import { RequestId } from "../../../src/RequestId.ts"

export { CurrentRequest, type Current } from "../../../src/http/CurrentRequest.ts"

export const newRequestId = (): RequestId => RequestId.make(uuid(), { disableValidation: true })
