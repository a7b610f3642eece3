/** The limits of the contract, shared by server, client, console and OpenAPI document. */

/** Maximum number of URLs in one batch. */
export const maxUrls = 50

/** Maximum length of one URL, in UTF-16 code units. */
export const maxUrlLength = 1000

/**
 * Maximum size of a request body, in bytes. The largest valid batch has about 300 kB: 50 URLs of
 * 1,000 code units, each code unit escaped to 6 bytes.
 */
export const maxBodyBytes = 512 * 1024

/** Maximum number of requests of one key that are under way in each process. */
export const maxRequestsOfKey = 256

/** Maximum number of items of one list that are validated. It is larger than `maxUrls`. */
export const maxJudgedItems = 100

/** Maximum and default number of rows in the answer of a list. */
export const maxRows = 1000
export const defaultRows = 100

/** Maximum number of requests for history, usage and statement, of one account in each process. */
export const maxListsPerSecond = 50
