import { randomFillSync } from "node:crypto"
import * as Context from "effect/Context"
import { v7 as uuid } from "uuid"
import type { AccountId } from "../Account.ts"
import type { Batch, UrlList } from "../Batch.ts"
import type { Report } from "../Report.ts"
import { RequestId } from "../RequestId.ts"
import type { Decoded } from "./Body.ts"

/**
 * The request in progress, and what was found out about it so far, so that nothing is done twice.
 */
export interface Current {
  /**
   * The id of the request. It appears in the header `x-request-id`, in the log and in the account's
   * statement.
   */
  readonly id: RequestId
  /** When the request must be answered: a time of `MonotonicClock`. */
  readonly deadline: number
  /** The account of the API key, once the request was counted against the rate limit. */
  account?: AccountId
  list?: Decoded<UrlList>
  known?: Batch["known"]
  report?: Report
}

export class CurrentRequest extends Context.Reference<CurrentRequest>()(
  "authority/http/CurrentRequest",
  {
    defaultValue: (): Current => ({
      id: RequestId.make("none"),
      deadline: Number.POSITIVE_INFINITY,
    }),
  },
) {}

/** Makes a unique id (UUID v7). Later ids sort after earlier ones, which suits database indexes. */
export const newRequestId = (): RequestId =>
  RequestId.make(uuid(fromPool), { disableValidation: true })

// Random bytes for 256 ids. Making all these bytes takes hardly longer than making the 16 bytes of
// one id.
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
