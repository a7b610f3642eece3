/** The client for programs that do not use Effect: promises, `AbortSignal`s, and classes of errors. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type * as Batch from "./Batch.ts"
import * as Client from "./Client.ts"

export * from "./ClientError.ts"
export type { Failure, Outcome, Success } from "./Batch.ts"
export type { Report } from "./Client.ts"

export interface Options {
  readonly apiKey: string
  /** Where the service is, as `https://authority.example.com`. */
  readonly baseUrl: string | URL
  /** Of one attempt; 60,000 by default. */
  readonly timeoutMs?: number | undefined
  /** How long the service may keep failing before a call does; 30,000 by default, 0 for one attempt. */
  readonly patienceMs?: number | undefined
}

export interface CallOptions {
  /** Ends the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export interface CheckOptions extends CallOptions {
  /** The same key and URLs bring the same answer back for 24 hours, and are paid for once. */
  readonly idempotencyKey?: string | undefined
}

export interface CheckAllOptions extends CheckOptions {
  /** Requests at a time; 4 by default. */
  readonly concurrency?: number | undefined
}

/** Every call rejects with a `ClientError`. */
export interface AuthorityMetrics {
  /** Checks 1 to 50 URLs in one request. */
  readonly check: (urls: ReadonlyArray<string>, options?: CheckOptions) => Promise<Client.Report>
  /** Checks any number of URLs and gives the outcomes in their order, as they come. */
  readonly checkAll: (
    urls: Iterable<string> | AsyncIterable<string>,
    options?: CheckAllOptions,
  ) => AsyncIterable<Batch.Outcome>
  /** What the account may still spend. */
  readonly availableCredits: (options?: CallOptions) => Promise<number>
}

export const AuthorityMetrics = (options: Options): AuthorityMetrics => {
  const { apiKey, baseUrl, patienceMs, timeoutMs } = options
  const client = Client.make({
    apiKey: Redacted.make(apiKey),
    baseUrl,
    timeout: timeoutMs,
    ...(patienceMs === undefined ? {} : { patience: patienceMs }),
  }).pipe(Effect.provide(fetching), Effect.runSync)

  return {
    check: (urls, { idempotencyKey, signal } = {}) =>
      run(client.check(urls, { idempotencyKey }), signal),
    checkAll: (urls, { signal, ...rest } = {}) =>
      Stream.toAsyncIterable(abortable(client.checkAll(streamOf(urls), rest), signal)),
    availableCredits: ({ signal } = {}) => run(client.availableCredits, signal),
  }
}

/** Nothing of a trace goes along: a page of another origin may not send its headers. */
const fetching = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, HttpClient.withTracerPropagation(false)),
).pipe(Layer.provide(FetchHttpClient.layer))

const run = async <A>(call: Effect.Effect<A, unknown>, signal: AbortSignal | undefined) => {
  signal?.throwIfAborted()
  const exit = await Effect.runPromiseExit(
    // Effect's own way with a signal would leave a listener behind for each call.
    signal === undefined ? call : Effect.raceFirst(call, aborted(signal)),
  )
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.squash(exit.cause)
}

/** Whatever the list itself throws is what its reader gets. */
const streamOf = (
  urls: Iterable<string> | AsyncIterable<string>,
): Stream.Stream<string, unknown> =>
  Symbol.asyncIterator in urls
    ? Stream.fromAsyncIterable(urls, (error) => error)
    : Stream.fromIterable(urls)

const abortable = <A>(stream: Stream.Stream<A, unknown>, signal: AbortSignal | undefined) =>
  signal === undefined ? stream : Stream.interruptWhen(stream, aborted(signal))

const aborted = (signal: AbortSignal) =>
  Effect.async<never, unknown>((resume) => {
    const abort = () => resume(Effect.fail(signal.reason))
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })
