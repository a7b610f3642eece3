/**
 * The limits of the contract, shared by the server, the client, the console and the OpenAPI
 * document.
 */

/** The maximum number of URLs in one batch. */
export const maxUrls = 50

/** The maximum length of one URL, in UTF-16 code units. */
export const maxUrlLength = 1000

/**
 * The maximum size of a request body, in bytes. The largest valid batch has about 300 kB: 50 URLs
 * of 1,000 code units, each escaped to 6 bytes.
 */
export const maxBodyBytes = 512 * 1024

/** The maximum number of one key's requests in progress in each process. */
export const maxRequestsOfKey = 256

/** The maximum number of items of one list that are validated, which is more than `maxUrls`. */
export const maxJudgedItems = 100

/** The maximum and default number of rows in the answer of a list. */
export const maxRows = 1000
export const defaultRows = 100

/**
 * The maximum requests per second of one account for history, usage and statement, in each process.
 */
export const maxListsPerSecond = 50
