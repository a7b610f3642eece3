/** Builds the base URL and the headers of requests. */
import { invalidIdempotencyKey } from "../contract/Wire.ts"
import { InvalidBaseUrl, Unauthorized, ValidationError } from "./ClientError.ts"

/** Returns the base URL without a slash at its end. Throws InvalidBaseUrl. */
export const baseUrlOf = (baseUrl: string | URL): string => {
  const text = String(baseUrl)
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isBase =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}` === "" &&
    // `url.search` and `url.hash` are empty for an address that ends in `?` or `#`.
    !/[?#]/.test(url.href)
  if (isBase) return url.href.replace(/\/+$/, "")
  throw new InvalidBaseUrl({
    // Hide the part before an @, because that part may contain a password.
    message: `The base URL ${JSON.stringify(text.replace(/.*@/, "…@"))} is not valid: write an address like https://authority.example.com, without user name, query and fragment.`,
  })
}

export type Parameters = Readonly<Record<string, string | number | Date | undefined>>

export const queryOf = (parameters: Parameters) => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue
    query.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  return query.size === 0 ? "" : `?${query}`
}

/** Throws Unauthorized when the key has characters that a header cannot contain. */
export const keyHeader = (apiKey: string) => {
  const key = apiKey.trim()
  if (/^[\x21-\x7e]*$/.test(key)) return { "x-api-key": key }
  throw new Unauthorized({
    message: "The API key contains characters that no key has. Copy the whole key again.",
  })
}

/**
 * Writes a quoted string with escapes, as RFC 8941 defines it. Throws ValidationError when the key
 * has characters that a header cannot contain.
 */
const idempotencyHeader = (key: string) => {
  if (/^[\x20-\x7e]*$/.test(key)) {
    return { "idempotency-key": `"${key.replaceAll(/["\\]/g, "\\$&")}"` }
  }
  throw new ValidationError({
    message: invalidIdempotencyKey.message,
    issues: [invalidIdempotencyKey],
  })
}

export const batchHeaders = (options: {
  readonly idempotencyKey: string
  readonly maxAgeSeconds?: number | undefined
  readonly maxCredits?: number | undefined
  readonly provenance?: boolean | undefined
}): Readonly<Record<string, string>> => ({
  ...idempotencyHeader(options.idempotencyKey),
  ...(options.maxCredits !== undefined && { "x-max-credits": String(options.maxCredits) }),
  ...(options.provenance === true && { prefer: "provenance" }),
  ...freshness(options.maxAgeSeconds),
})

/** The header that limits the age of figures, in whole seconds. */
export const freshness = (maxAgeSeconds: number | undefined): Readonly<Record<string, string>> =>
  maxAgeSeconds === undefined ? {} : { "cache-control": `max-age=${Math.floor(maxAgeSeconds)}` }

/** The version. The build defines it; it is not defined when the client runs from its sources. */
declare const VERSION: string | undefined

/** Returns the header `user-agent`, or no header in browsers, where CORS does not allow it. */
export const userAgentHeader = (): Readonly<Record<string, string>> =>
  globalThis.navigator?.userAgent?.startsWith("Mozilla/")
    ? {}
    : { "user-agent": `authority-metrics/${typeof VERSION === "undefined" ? "0" : VERSION}` }
