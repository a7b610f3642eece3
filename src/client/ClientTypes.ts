/** The types of the promise client: its methods, their options and their results. */
import type { HistoryAnswer, KeyAnswer, StatementAnswer, UsageAnswer } from "../contract/Wire.ts"
import type { Answers } from "../lists/Answers.ts"
import type { AnyClientError } from "./ClientError.ts"
import type { CheckResult, Preview } from "./Outcomes.ts"

export interface Options {
  readonly apiKey: string
  /** The base URL of the service, for example `https://authority.example.com`. */
  readonly baseUrl: string | URL
  /** The timeout of one attempt, in milliseconds; default 60,000. */
  readonly timeoutMs?: number | undefined
  /** How long to retry after the first failure, in milliseconds; default 90,000, 0 for no retry. */
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
   * only `User-Agent`. In a browser, CORS forbids them on a page of another origin.
   */
  readonly headers?: RequestInit["headers"] | undefined
}

export interface CallOptions {
  /** Cancels the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export interface PreviewOptions extends CallOptions {
  /**
   * The greatest age of figures that you accept, in seconds: a check buys older figures again. By
   * default, the service decides.
   */
  readonly maxAgeSeconds?: number | undefined
}

export interface CheckOptions extends PreviewOptions {
  /** For 24 hours, the same key and URLs get the same answer and are charged only once. */
  readonly idempotencyKey?: string | undefined
  /**
   * The most that the request may cost, in whole credits. If the service's price for all valid URLs
   * is higher, `check` fails with InsufficientCredits and nothing is charged.
   */
  readonly maxCredits?: number | undefined
  /**
   * True to get the `provenance` of each success, and the `cause` and `detail` of each failure. A
   * repeat with the same idempotency key must make the same choice.
   */
  readonly provenance?: boolean | undefined
}

export interface HistoryOptions extends CallOptions {
  /** The maximum number of observations: 1 to 1000; default 100. */
  readonly limit?: number | undefined
}

/** The figures of a URL over time, newest first. */
export type History = HistoryAnswer["data"]

/** What an API key may do, how much of its budget is left, and when it expires. */
export type Key = KeyAnswer["data"]

export interface UsageOptions extends CallOptions {
  /** What each row sums up; default a day. */
  readonly by?: "day" | "key" | undefined
  /** The start of the period. A UTC day that the period touches counts as a whole. */
  readonly since?: Date | undefined
  /** The end of the period, exclusive. */
  readonly until?: Date | undefined
}

/** The name of the account, and its usage: days oldest first, or keys by credits, highest first. */
export type Usage = UsageAnswer["data"]

export interface StatementOptions extends CallOptions {
  /** The maximum number of entries: 1 to 1000; default 100. */
  readonly limit?: number | undefined
  /** Returns only entries with a lower sequence. Pass the last sequence of the page before. */
  readonly before?: number | undefined
}

/** The name of the account, and its grants, charges and corrections, newest first. */
export type Statement = StatementAnswer["data"]

export interface CheckAllOptions extends Omit<CheckOptions, "maxCredits"> {
  /**
   * A store of answers that outlives the call: answers in it from the last 30 days, or from
   * `maxAgeSeconds`, are not charged again. By default, the store is in memory and ends with the
   * call. A batch that got no answer is repeated with its key for 23 hours, and charged anew after
   * that. The store chooses the keys, so `idempotencyKey` is ignored.
   */
  readonly answers?: Answers | undefined
  /** The maximum number of requests in flight; default 4. */
  readonly concurrency?: number | undefined
  /** Called after each batch. If `onProgress` throws, the iteration ends with the thrown error. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** The outcomes and the credits used so far, over all batches that `checkAll` has yielded. */
export interface Progress {
  readonly outcomes: number
  readonly creditsUsed: number
}

/** The promise client. A method that fails rejects with a `ClientError`. */
export interface AuthorityMetrics {
  /**
   * Checks 1 to 50 URLs in one request. A URL that is empty or too long is not sent, and its
   * outcome is INVALID_URL.
   */
  readonly check: (urls: ReadonlyArray<string>, options?: CheckOptions) => Promise<CheckResult>
  /**
   * Checks any number of URLs in batches of 50. A preview finds the targets of each batch, and only
   * those that no earlier batch had are sent, so that each target is charged once. Yields one
   * result for each batch, in the order of the URLs, without waiting for later batches. `requestId`
   * is undefined for a batch of which nothing was sent. All targets are remembered until the
   * iteration ends.
   */
  readonly checkAll: (
    urls: Iterable<string> | AsyncIterable<string>,
    options?: CheckAllOptions,
  ) => AsyncIterable<CheckResult>
  /** Returns what a check of 1 to 50 URLs would do and cost, free of charge. */
  readonly preview: (urls: ReadonlyArray<string>, options?: PreviewOptions) => Promise<Preview>
  /** Returns the figures of a URL over time, free of charge. */
  readonly history: (url: string, options?: HistoryOptions) => Promise<History>
  /**
   * Returns what the account has used by day or by key, free of charge: at most the newest 1000
   * days, or the 1000 keys that used the most credits.
   */
  readonly usage: (options?: UsageOptions) => Promise<Usage>
  /** Returns the grants, charges and corrections of the account, page by page, free of charge. */
  readonly statement: (options?: StatementOptions) => Promise<Statement>
  /** Returns the credits that the account can still spend. */
  readonly availableCredits: (options?: CallOptions) => Promise<number>
  /** Returns what the client's key may do, how much of its budget is left, and when it expires. */
  readonly key: (options?: CallOptions) => Promise<Key>
}
