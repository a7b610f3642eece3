/** The client for programs that do not use Effect: promises, `AbortSignal` and error classes. */
import { v4 as uuid } from "uuid"
import { maxUrls } from "../contract/Limits.ts"
import { batchPath, creditsPath, previewPath } from "../contract/Wire.ts"
import * as Bodies from "./Bodies.ts"
import * as ClientError from "./ClientError.ts"
import { exchange } from "./Exchange.ts"
import { mapInOrder } from "./mapInOrder.ts"
import type { Options } from "./Options.ts"
import * as Outcomes from "./Outcomes.ts"
import * as Preview from "./Preview.ts"
import * as Request from "./Request.ts"
import * as Signal from "./Signal.ts"

export * from "./ClientError.ts"
export type { Options } from "./Options.ts"
export type { CheckResult, Failure, Outcome, Success } from "./Outcomes.ts"
export type { Preview, PreviewEntry } from "./Preview.ts"
export type { Provenance } from "../contract/Wire.ts"

export interface CallOptions {
  /** Cancels the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export interface CheckOptions extends CallOptions {
  /**
   * For 24 hours, the same idempotency key and URLs get the same answer and are charged only once.
   */
  readonly idempotencyKey?: string | undefined
  /**
   * The most that the request may cost, in whole credits. When the service's price for all valid
   * URLs is higher, `check` fails with InsufficientCredits and nothing is charged.
   */
  readonly maxCredits?: number | undefined
  /**
   * True to get the `provenance` of each success, and the `cause` and `detail` of each failure. A
   * repeat with the same idempotency key needs the same choice.
   */
  readonly provenance?: boolean | undefined
}

export interface CheckAllOptions extends Omit<CheckOptions, "maxCredits"> {
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
  /**
   * Checks 1 to 50 URLs in one request. A URL that is empty or too long is not sent: its outcome is
   * INVALID_URL.
   */
  readonly check: (
    urls: ReadonlyArray<string>,
    options?: CheckOptions,
  ) => Promise<Outcomes.CheckResult>
  /**
   * Checks any number of URLs in batches of 50, with one HTTP request for each batch. Yields one
   * result for each batch, in the order of the URLs, without waiting for later batches.
   */
  readonly checkAll: (
    urls: Iterable<string> | AsyncIterable<string>,
    options?: CheckAllOptions,
  ) => AsyncIterable<Outcomes.CheckResult>
  /** Says what a check of 1 to 50 URLs would do and cost, free of charge. */
  readonly preview: (urls: ReadonlyArray<string>, options?: CallOptions) => Promise<Preview.Preview>
  /** Returns the credits that the account can still spend. */
  readonly availableCredits: (options?: CallOptions) => Promise<number>
}

/**
 * Makes a client, and sends nothing. Throws `InvalidBaseUrl` for an invalid base URL, and
 * `TypeError` for an invalid header.
 */
export const AuthorityMetrics = (options: Options): AuthorityMetrics => {
  const send = exchange(options)

  const check: AuthorityMetrics["check"] = async (
    urls,
    { idempotencyKey = uuid(), maxCredits, provenance, signal } = {},
  ) => {
    const json = { urls: urls.filter(Outcomes.isAdmissible) }
    if (urls.length > 0 && json.urls.length === 0) return Outcomes.unsent(urls)
    const headers = Request.batchHeaders({ idempotencyKey, maxCredits, provenance })
    const { answer, body } = await send(
      { path: batchPath, json, headers, signal },
      Bodies.BatchAnswer,
    )
    return Outcomes.resultOf(urls, body, answer)
  }

  async function* checkAll(
    urls: Iterable<string> | AsyncIterable<string>,
    {
      concurrency = 4,
      idempotencyKey = uuid(),
      onProgress,
      provenance,
      signal,
    }: CheckAllOptions = {},
  ) {
    const ended = Signal.following(signal)
    const batches = batchesOf(urls)
    const next = () => Signal.orAborted(batches.next(), ended.signal)
    const results = mapInOrder({ next }, concurrency, (batch, i) =>
      check(batch, {
        idempotencyKey: `${idempotencyKey}-${i}`,
        provenance,
        signal: ended.signal,
      }),
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

  const availableCredits: AuthorityMetrics["availableCredits"] = async ({ signal } = {}) => {
    const { body } = await send({ path: creditsPath, signal }, Bodies.CreditsAnswer)
    return body.data.availableCredits
  }

  const preview: AuthorityMetrics["preview"] = async (urls, { signal } = {}) => {
    const json = { urls: urls.filter(Outcomes.isAdmissible) }
    if (urls.length > 0 && json.urls.length === 0) {
      return Preview.previewOf(urls, Preview.emptyAnswer(await availableCredits({ signal })))
    }
    const { body } = await send({ path: previewPath, json, signal }, Bodies.PreviewAnswer)
    return Preview.previewOf(urls, body)
  }

  return { check, checkAll, preview, availableCredits }
}

async function* batchesOf(urls: Iterable<string> | AsyncIterable<string>) {
  // A string is iterable too: without this error, each character would be checked as a URL.
  if (typeof urls === "string") {
    const message = "The URLs must be a list, not a string."
    throw new ClientError.ValidationError({ message, issues: [] })
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
