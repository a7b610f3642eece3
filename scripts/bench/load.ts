/** What every contender is asked: the same accounts, addresses and figures for all of them. */
export const accounts = 5

/** Every address that is ever asked about; all their figures are known beforehand. */
export const urls = Array.from(
  { length: 500 },
  (_, i) => `https://www.site-${i}.example.com/articles/${i}?page=1`,
)

export const batchPath = "/v1/metrics/da-pa/batch"
export const creditsPath = "/v1/quota/available-credits"

export const batch = (first: number, count: number) =>
  JSON.stringify({ urls: urls.slice(first, first + count) })

export const figures = { domainAuthority: 61, pageAuthority: 47, spamScore: 3 }

/** More than any run can spend. */
export const credits = 1_000_000_000_000
