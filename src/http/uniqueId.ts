import { randomFillSync } from "node:crypto"
import { v7 as uuid } from "uuid"

/**
 * Makes a unique id (UUID v7), for what each request needs. Later ids sort after earlier ones, which
 * suits database indexes. Where few are made, `uuid` alone will do.
 */
export const uniqueId = (): string => uuid(fromPool)

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
