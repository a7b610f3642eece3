/** The client for programs that do not use Effect: promises, `AbortSignal` and error classes. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type * as Batch from "./Batch.ts"
import * as Client from "./EffectClient.ts"

export * from "./ClientError.ts"
export type { Failure, Outcome, Success } from "./Batch.ts"
export type { Report } from "./EffectClient.ts"

export interface Options {
  readonly apiKey: string
  /** The base URL of the service, for example `https://authority.example.com`. */
  readonly baseUrl: string | URL
  /** The timeout of one attempt; default 60,000. */
  readonly timeoutMs?: number | undefined
  /**
   * How long a failing request is retried before the call fails; default 30,000, 0 for no retry.
   */
  readonly patienceMs?: number | undefined
}

export interface CallOptions {
  /** Cancels the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export interface CheckOptions extends CallOptions {
  /** For 24 hours, the same key and URLs get the same answer and are charged only once. */
  readonly idempotencyKey?: string | undefined
}

export interface CheckAllOptions extends CheckOptions {
  /** The number of requests in flight; default 4. */
  readonly concurrency?: number | undefined
}

/** The promise client. A call that fails rejects with a `ClientError`. */
export interface AuthorityMetrics {
  /** Checks 1 to 50 URLs in one request. */
  readonly check: (urls: ReadonlyArray<string>, options?: CheckOptions) => Promise<Client.Report>
  /** Checks any number of URLs. Yields the outcomes in the order of the URLs, as answers arrive. */
  readonly checkAll: (
    urls: Iterable<string> | AsyncIterable<string>,
    options?: CheckAllOptions,
  ) => AsyncIterable<Batch.Outcome>
  /** Returns the credits that the account can still spend. */
  readonly availableCredits: (options?: CallOptions) => Promise<number>
}

/** Makes a client. It sends nothing until the first call. */
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

/** Sends no trace headers, because the service's CORS headers do not allow them. */
const fetching = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, HttpClient.withTracerPropagation(false)),
).pipe(Layer.provide(FetchHttpClient.layer))

const run = async <A>(call: Effect.Effect<A, unknown>, signal: AbortSignal | undefined) => {
  signal?.throwIfAborted()
  const exit = await Effect.runPromiseExit(
    // The `signal` option of `runPromiseExit` would leave a listener behind after each call.
    signal === undefined ? call : Effect.raceFirst(call, aborted(signal)),
  )
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.squash(exit.cause)
}

/** An error that the list throws reaches the caller unchanged. */
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
