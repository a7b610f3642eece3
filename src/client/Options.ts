import type { AnyClientError } from "./ClientError.ts"

export interface Options {
  readonly apiKey: string
  /** The base URL of the service, for example `https://authority.example.com`. */
  readonly baseUrl: string | URL
  /** The timeout of one attempt, in milliseconds; default 60,000. */
  readonly timeoutMs?: number | undefined
  /**
   * How long to retry a request after its first failure, in milliseconds; default 90,000, 0 for a
   * single attempt.
   */
  readonly patienceMs?: number | undefined
  /**
   * Called before the wait for each retry. If `onRetry` throws, the client does not retry, and
   * rejects with the thrown error.
   */
  readonly onRetry?: ((error: AnyClientError, waitMs: number) => void | Promise<void>) | undefined
  /** Sends the requests; default the global `fetch`. */
  readonly fetch?: ((url: string, request: RequestInit) => Promise<Response>) | undefined
  /**
   * Headers for every request, for example for a proxy. Of the client's own headers, they replace
   * only `User-Agent`. In a browser, CORS allows none on a page of another origin.
   */
  readonly headers?: RequestInit["headers"] | undefined
}
