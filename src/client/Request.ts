/** Builds and validates what the clients send: the base URL, the headers and the URLs. */
import { maxUrlLength, maxUrls } from "../contract/Limits.ts"
import { invalidIdempotencyKey, type Issue } from "../contract/Wire.ts"
import { InvalidBaseUrl, ValidationError } from "./ClientError.ts"

/** Returns the base URL without a slash at its end. */
export const baseUrlOf = (baseUrl: string | URL): string | InvalidBaseUrl => {
  const text = String(baseUrl)
  const url = parsed(text)
  const isBase =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}${url.search}${url.hash}` === ""
  return isBase
    ? url.href.replace(/\/+$/, "")
    : new InvalidBaseUrl({
        // Hide the part before an @, because that part may contain a password.
        message: `The base URL ${JSON.stringify(text.replace(/.*@/, "…@"))} is not valid: write an address like https://authority.example.com, without user name, query and fragment.`,
      })
}

/** `URL.parse` is missing in Node 20. */
const parsed = (text: string) => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/**
 * Returns the header with the API key; undefined when the key has characters that a header cannot
 * contain.
 */
export const keyHeader = (apiKey: string) => {
  const key = apiKey.trim()
  return /^[\x21-\x7e]*$/.test(key) ? { "x-api-key": key } : undefined
}

export const invalidKey =
  "The API key contains characters that no key has. Copy the whole key again."

/**
 * Returns the idempotency header of a batch, or an error that lists every violation of the
 * contract.
 */
export const batchHeader = (urls: ReadonlyArray<string>, idempotencyKey: string) => {
  const issues = [
    ...violations(urls),
    ...(/^[\x20-\x7e]{1,255}$/.test(idempotencyKey) ? [] : [invalidIdempotencyKey]),
  ]
  return issues.length > 0
    ? new ValidationError({ message: issues.map(({ message }) => message).join("; "), issues })
    : // A quoted string with escapes, as RFC 8941 defines it.
      { "idempotency-key": `"${idempotencyKey.replaceAll(/["\\]/g, "\\$&")}"` }
}

/** Lists every violation of the contract in the URLs of a batch. */
export const violations = (urls: unknown): ReadonlyArray<Issue> => {
  if (!Array.isArray(urls)) return [typeIssue("array", urls, ["urls"])]
  const items: ReadonlyArray<unknown> = Array.from(urls)
  return [
    ...items.flatMap((url, i) => {
      const path = ["urls", String(i)]
      return typeof url === "string"
        ? sizeIssues("string", url.length, maxUrlLength, path)
        : [typeIssue("string", url, path)]
    }),
    ...sizeIssues("array", items.length, maxUrls, ["urls"]),
  ]
}

const sizeIssues = (
  type: "array" | "string",
  length: number,
  maximum: number,
  path: ReadonlyArray<string>,
): ReadonlyArray<Issue> => {
  const rest = { type, inclusive: true, exact: false, path } as const
  const [noun, units] = type === "array" ? ["Array", "element(s)"] : ["String", "character(s)"]
  const message = (bound: string) => `${noun} must contain at ${bound} ${units}`
  if (length < 1) return [{ code: "too_small", minimum: 1, message: message("least 1"), ...rest }]
  if (length <= maximum) return []
  return [{ code: "too_big", maximum, message: message(`most ${maximum}`), ...rest }]
}

const typeIssue = (expected: string, value: unknown, path: ReadonlyArray<string>): Issue => {
  const received = value === null ? "null" : Array.isArray(value) ? "array" : typeof value
  const message = `Expected ${expected}, received ${received}`
  return { code: "invalid_type", expected, received, message, path }
}

/** The version, which the build inserts. Undefined when the client runs from source. */
declare const VERSION: string | undefined

/** Returns the header `user-agent`. Returns no header in browsers, where CORS does not allow it. */
export const userAgentHeader = (): Readonly<Record<string, string>> =>
  globalThis.navigator?.userAgent?.startsWith("Mozilla/")
    ? {}
    : { "user-agent": `authority-metrics/${typeof VERSION === "undefined" ? "0" : VERSION}` }
