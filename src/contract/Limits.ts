/** The contract's limits, shared by server, client, console and documents. */

/** URLs in one batch. */
export const maxUrls = 50

/** Length of one URL, in UTF-16 code units. */
export const maxUrlLength = 1000

/**
 * Size of a request's body, in bytes. The longest valid batch, 50 URLs of 1,000 code units that are
 * each escaped to 6 bytes, has 300 kB.
 */
export const maxBodyBytes = 512 * 1024

/** How many items of a list a 400 judges. It lies above `maxUrls`, so a longer list is too long too. */
export const maxJudgedItems = 100
