import { randomFillSync } from "node:crypto"
import * as Context from "effect/Context"
import { v7 as uuid } from "uuid"
import type { AccountId } from "../Account.ts"
import type { Report } from "../Report.ts"
import { RequestId } from "../RequestId.ts"

/** The request being answered. Middleware and handlers add what the request log reports. */
export interface Current {
  /** In the header `x-request-id`, the log and the account's statement. */
  readonly id: RequestId
  account?: AccountId
  report?: Report
}

export class CurrentRequest extends Context.Reference<CurrentRequest>()(
  "authority/http/CurrentRequest",
  { defaultValue: (): Current => ({ id: RequestId.make("none") }) },
) {}

/** An id that no other process makes. Later ids sort after earlier ones, which suits indexes. */
export const newRequestId = (): RequestId =>
  RequestId.make(uuid(fromPool), { disableValidation: true })

/** The system fills many random bytes in hardly more time than the 16 of one id. */
const pool = new Uint8Array(16 * 256)
let used = pool.length

const fromPool = {
  rng: () => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += 16
    return pool.subarray(used - 16, used)
  },
}
