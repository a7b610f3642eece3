/** Makes the benchmark's requests, which are the same for every server in a run. */
import { batchPath, creditsPath } from "../../src/contract/Wire.ts"

export { batchPath, creditsPath }

export const accounts = 5

/** Credits of each account: more than any run can spend. */
export const credits = 1_000_000_000_000

/**
 * Returns `count` URLs, no two of them with the same domain. Four kinds of URL alternate, from a
 * bare domain to a URL with scheme, subdomain, path and query.
 */
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

/** The URLs in the requests of the benchmark rows whose names begin with *known* or *sandbox*. */
export const knownUrls = urlsOf("known", 5_000)

/**
 * The URLs in the requests of the benchmark rows whose names begin with *bought*. Two requests in
 * flight never contain the same URL: 64 requests use at most 3,200 consecutive URLs of the 50,000.
 */
export const boughtUrls = urlsOf("bought", 50_000)

export interface Request {
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
    return { isNamed, body: JSON.stringify({ urls: batch }) }
  })

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
