import { createHash } from "node:crypto"

/**
 * Returns the key of a page in the database: its address. A long address is cut, and its hash is
 * added. An address has up to 9,000 characters, but PostgreSQL refuses index entries above 2,700
 * bytes, and SQLite stores every key twice, a long one with overflow pages.
 */
export const pageKey = (page: string): string =>
  page.length <= maxLength
    ? page
    : `${page.slice(0, maxLength - hashLength)} ${createHash("sha256").update(page).digest("base64url")}`

/** Maximum length of a key, in characters. */
const maxLength = 256

/** Length of a space, which no address contains, and of the hash. */
const hashLength = 44
