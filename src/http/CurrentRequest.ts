import { randomFillSync } from "node:crypto"
import * as Context from "effect/Context"
import { v7 as uuid } from "uuid"
import { RequestId } from "../RequestId.ts"

/** The id of the request being answered; in the header `x-request-id`, the log and the statement. */
export class CurrentRequestId extends Context.Reference<CurrentRequestId>()(
  "authority/CurrentRequestId",
  { defaultValue: () => RequestId.make("none") },
) {}

/** An id that no other process makes; later ones sort after earlier ones, as indexes like it. */
export const newRequestId = (): RequestId =>
  RequestId.make(uuid(fromPool), { disableValidation: true })

/** The system gives many random bytes in hardly more time than the 16 of one id. */
const pool = new Uint8Array(16 * 256)
let taken = pool.length

const fromPool = {
  rng: () => {
    if (taken === pool.length) {
      randomFillSync(pool)
      taken = 0
    }
    taken += 16
    return pool.subarray(taken - 16, taken)
  },
}
