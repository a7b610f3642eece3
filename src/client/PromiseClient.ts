/** The client for programs that do not use Effect: promises, `AbortSignal` and error classes. */
import { v4 as uuid } from "uuid"
import { maxUrls } from "../contract/Limits.ts"
import { batchPath, creditsPath } from "../contract/Wire.ts"
import { type Answer, bodyOf } from "./Answer.ts"
import * as Bodies from "./Bodies.ts"
import * as ClientError from "./ClientError.ts"
import { connectionFailed, failureOf } from "./failureOf.ts"
import { mapInOrder } from "./mapInOrder.ts"
import * as Outcomes from "./Outcomes.ts"
import * as Request from "./Request.ts"
import * as Retry from "./Retry.ts"
import * as Signal from "./Signal.ts"

export * from "./ClientError.ts"
export type { CheckResult, Failure, Outcome, Success } from "./Outcomes.ts"

export interface Options {
  readonly apiKey: string
  /** The base URL of the service, for example `https://authority.example.com`. */
  readonly baseUrl: string | URL
  /** The timeout of one attempt, in milliseconds; default 60,000. */
  readonly timeoutMs?: number | undefined
  /**
   * How long to retry a failing request, in milliseconds; default 30,000, 0 for a single attempt.
   */
  readonly patienceMs?: number | undefined
  /**
   * Called before the wait for each retry. If `onRetry` throws, the client does not retry, and
   * rejects with the thrown error.
   */
  readonly onRetry?:
    ((error: ClientError.AnyClientError, waitMs: number) => void | Promise<void>) | undefined
  /** Sends the requests; default the global `fetch`. */
  readonly fetch?: ((url: string, request: RequestInit) => Promise<Response>) | undefined
  /**
   * Headers for every request, for example for a proxy. The client's own headers take precedence.
   */
  readonly headers?: RequestInit["headers"] | undefined
}

export interface CallOptions {
  /** Cancels the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export interface CheckOptions extends CallOptions {
  /**
   * For 24 hours, the same idempotency key and URLs get the same answer and are charged only once.
   */
  readonly idempotencyKey?: string | undefined
}

export interface CheckAllOptions extends CheckOptions {
  /** The maximum number of requests in flight; default 4. */
  readonly concurrency?: number | undefined
  /** Called after each batch. If `onProgress` throws, the iteration ends with the thrown error. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/**
 * The number of outcomes and the number of credits used, over all batches that `checkAll` has
 * yielded so far.
 */
export interface Progress {
  readonly outcomes: number
  readonly creditsUsed: number
}

/** The promise client. A method that fails rejects with a `ClientError`. */
export interface AuthorityMetrics {
  /** Checks 1 to 50 URLs in one request. */
  readonly check: (
    urls: ReadonlyArray<string>,
    options?: CheckOptions,
  ) => Promise<Outcomes.CheckResult>
  /**
   * Checks any number of URLs in batches of 50, with one HTTP request for each batch. Yields one
   * result for each batch, in the order of the URLs, without waiting for later batches. A URL that
   * is empty or too long is not sent: its outcome is INVALID_URL, and the other URLs are still
   * checked.
   */
  readonly checkAll: (
    urls: Iterable<string> | AsyncIterable<string>,
    options?: CheckAllOptions,
  ) => AsyncIterable<Outcomes.CheckResult>
  /** Returns the credits that the account can still spend. */
  readonly availableCredits: (options?: CallOptions) => Promise<number>
}

/**
 * Makes a client, and sends nothing. Throws `InvalidBaseUrl` for an invalid base URL, and
 * `TypeError` for an invalid header.
 */
export const AuthorityMetrics = (options: Options): AuthorityMetrics => {
  const send = sender(options)

  const check: AuthorityMetrics["check"] = async (
    urls,
    { idempotencyKey = uuid(), signal } = {},
  ) => {
    const headers = Request.batchHeader(urls, idempotencyKey)
    if (headers instanceof ClientError.ValidationError) throw headers
    const request = { method: "POST", headers, body: JSON.stringify({ urls }) }
    return send(batchPath, request, signal, (answer) => {
      const body = Bodies.parse(Bodies.BatchAnswer, answer.body)
      return body && Outcomes.resultOf(urls, body, answer)
    })
  }

  const checkLeniently = (urls: ReadonlyArray<string>, options: CheckOptions) => {
    const { admissible, complete } = Outcomes.lenient(urls)
    const result = admissible.length > 0 ? check(admissible, options) : Outcomes.unsent
    return Promise.resolve(result).then(complete)
  }

  async function* checkAll(
    urls: Iterable<string> | AsyncIterable<string>,
    { concurrency = 4, idempotencyKey = uuid(), onProgress, signal }: CheckAllOptions = {},
  ) {
    const ended = Signal.following(signal)
    const batches = batchesOf(urls)
    const next = () => Signal.orAborted(batches.next(), ended.signal)
    const results = mapInOrder({ next }, concurrency, (batch, i) =>
      checkLeniently(batch, { idempotencyKey: `${idempotencyKey}-${i}`, signal: ended.signal }),
    )
    const progress = { outcomes: 0, creditsUsed: 0 }
    try {
      for await (const result of results) {
        yield result
        progress.outcomes += result.outcomes.length
        progress.creditsUsed += result.creditsUsed
        onProgress?.({ ...progress })
      }
    } finally {
      ended.forget()
      ended.abort(new Error("The caller stopped reading the results."))
      // Ends the iteration of `urls`, so that a generator can release its resources. Do not await
      // the end: a generator that waits for its next URL may never end.
      batches.return().catch(() => undefined)
    }
  }

  const availableCredits: AuthorityMetrics["availableCredits"] = ({ signal } = {}) =>
    send(
      creditsPath,
      { method: "GET" },
      signal,
      ({ body }) => Bodies.parse(Bodies.CreditsAnswer, body)?.data.availableCredits,
    )

  return { check, checkAll, availableCredits }
}

interface Sent {
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Makes a function that sends a request with retries and decodes the answer. */
const sender = (options: Options) => {
  const { apiKey, onRetry, patienceMs = 30_000, timeoutMs = 60_000 } = options
  const baseUrl = Request.baseUrlOf(options.baseUrl)
  if (baseUrl instanceof ClientError.InvalidBaseUrl) throw baseUrl
  const key = Request.keyHeader(apiKey)
  const fetch = options.fetch ?? ((url, request) => globalThis.fetch(url, request))
  const given = new Headers(options.headers)
  for (const [name, value] of Object.entries(Request.userAgentHeader())) {
    if (!given.has(name)) given.set(name, value)
  }

  const exchange = async (
    path: string,
    { body, headers, method }: Sent,
    signal: AbortSignal,
  ): Promise<Answer> => {
    const type = body === undefined ? {} : { "content-type": "application/json" }
    const all = new Headers(given)
    const own = { ...key, ...headers, ...type }
    for (const [name, value] of Object.entries(own)) all.set(name, value)
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: all,
      signal,
      // Following a redirect would send the API key to another address.
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
    })
    const header = (name: string) => response.headers.get(name) ?? undefined
    const text = await response.text().catch((cause: unknown) => {
      throw connectionFailed(cause, header("x-request-id"))
    })
    return { status: response.status, header, body: bodyOf(text) }
  }

  /** Makes one attempt. The timeout includes the time to read the body. */
  const attempt = async (path: string, request: Sent, signal: AbortSignal | undefined) => {
    const ended = Signal.following(signal)
    const timeout = new ClientError.TimedOut({ message: "The service did not answer in time." })
    const timer = setTimeout(() => ended.abort(timeout), Math.min(timeoutMs, Signal.longestTimerMs))
    try {
      return await Signal.orAborted(exchange(path, request, ended.signal), ended.signal)
    } catch (error) {
      if (ended.signal.aborted) throw ended.signal.reason
      throw error instanceof ClientError.ClientError ? error : connectionFailed(error)
    } finally {
      clearTimeout(timer)
      ended.forget()
    }
  }

  return async <A>(
    path: string,
    request: Sent,
    signal: AbortSignal | undefined,
    read: (answer: Answer) => A | ClientError.UnexpectedAnswer | undefined,
  ): Promise<A> => {
    signal?.throwIfAborted()
    if (key === undefined) throw new ClientError.Unauthorized({ message: Request.invalidKey })
    for (let failures = Retry.begin(Date.now()); ;) {
      try {
        return judged(await attempt(path, request, signal), read)
      } catch (error) {
        if (!ClientError.isClientError(error)) throw error
        const state = { now: Date.now(), random: Math.random(), patienceMs }
        const retry = Retry.next(failures, error, state)
        if (retry === undefined) throw error
        await onRetry?.(error, retry.waitMs)
        await Signal.sleep(retry.waitMs, signal)
        failures = retry.failures
      }
    }
  }
}

/** Decodes an answer. Every error contains the answer's body. */
const judged = <A>(
  answer: Answer,
  read: (answer: Answer) => A | ClientError.UnexpectedAnswer | undefined,
): A => {
  if (answer.status !== 200) throw failureOf(answer)
  let result: ReturnType<typeof read>
  try {
    result = read(answer)
  } catch (cause) {
    throw failureOf(answer, cause)
  }
  if (result === undefined) throw failureOf(answer)
  if (result instanceof ClientError.UnexpectedAnswer) throw result
  return result
}

/** Groups a list into batches. */
async function* batchesOf(urls: Iterable<string> | AsyncIterable<string>) {
  // A string is iterable too: without this error, each character would be checked as a URL.
  if (typeof urls === "string") {
    const message = "The URLs must be a list, not a string."
    throw new ClientError.ValidationError({ message, issues: Request.violations(urls) })
  }
  let batch: Array<string> = []
  for await (const url of urls) {
    batch.push(url)
    if (batch.length < maxUrls) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
