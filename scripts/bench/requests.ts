/** Makes the requests of the benchmark, which are the same for every server of a run. */

/** The number of accounts that send requests. */
export const accounts = 5

/** Credits of each account: more than any run can spend. */
export const credits = 1_000_000_000_000

export const batchPath = "/v1/metrics/da-pa/batch"
export const creditsPath = "/v1/quota/available-credits"

/** Returns `count` URLs, each with another domain. The URLs have four common forms in turn. */
const urlsOf = (kind: string, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const name = `${kind}-${i}`
    switch (i % 4) {
      case 0:
        return `https://www.${name}.com/articles/${i}?page=1`
      case 1:
        return `${name}.org`
      case 2:
        return `http://blog.${name}.co.uk/`
      default:
        return `https://${name}.de/products/${i}`
    }
  })

/** The URLs that the requests of the benchmark's rows *known* and *sandbox* contain. */
export const knownUrls = urlsOf("known", 5_000)

/**
 * The URLs that the requests of the benchmark's rows *bought* contain. There are so many that no
 * two requests in flight contain the same URL: 64 requests of 50 URLs use 3,200 consecutive URLs.
 */
export const boughtUrls = urlsOf("bought", 50_000)

export interface Request {
  readonly method: "GET" | "POST"
  readonly path: string
  /** Whether the request has an `Idempotency-Key`. */
  readonly isNamed: boolean
  readonly body: string
}

const differentBatches = 1_000

/** Makes requests of `count` URLs each. Every URL is used once before any URL is repeated. */
export const batches = (
  urls: ReadonlyArray<string>,
  { count, isNamed }: { readonly count: number; readonly isNamed: boolean },
): ReadonlyArray<Request> =>
  Array.from({ length: count === 1 ? urls.length : differentBatches }, (_, i) => {
    // Start each pass over the URLs 5 URLs later, so that its batches differ from those of the
    // previous pass.
    const first = i * count + 5 * Math.floor((i * count) / urls.length)
    const batch = Array.from({ length: count }, (_, j) => urls[(first + j) % urls.length])
    return { method: "POST", path: batchPath, isNamed, body: JSON.stringify({ urls: batch }) }
  })

export const balance: Request = { method: "GET", path: creditsPath, isNamed: false, body: "" }

/**
 * Hashes a text with FNV-1a, and derives figures between 0 and 100 from the hash. The same text
 * always gives the same figures.
 */
export const figuresOf = (text: string) => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  return {
    domainAuthority: (hash >>> 0) % 101,
    pageAuthority: (hash >>> 8) % 101,
    spamScore: (hash >>> 16) % 101,
  }
}
