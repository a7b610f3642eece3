/** The client for programs that use Effect: the promise client with Effects, Streams and layers. */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import { v4 as uuid } from "uuid"
import * as ClientError from "./ClientError.ts"
import type * as Outcomes from "./Outcomes.ts"
import * as PromiseClient from "./PromiseClient.ts"

export * from "./ClientError.ts"
export type { CheckResult, Failure, Outcome, Preview, PreviewEntry, Success } from "./Outcomes.ts"
export { memoryAnswers } from "../lists/Answers.ts"
export type { Answer, Answers, Batch, Payer } from "../lists/Answers.ts"
export type { History, Key, Statement, Usage } from "./PromiseClient.ts"
export type { Observation, Provenance, StatementEntry, UsageRow } from "../contract/Wire.ts"

export interface Options extends Pick<PromiseClient.Options, "baseUrl" | "fetch" | "headers"> {
  readonly apiKey: Redacted.Redacted
  /** The timeout of one attempt; default 1 minute, twice the service's default time limit. */
  readonly timeout?: Duration.DurationInput | undefined
  /** How long to retry a failing request; default 90 seconds, 0 for a single attempt. */
  readonly patience?: Duration.DurationInput | undefined
  /** Called before each retry, with the error of the failed attempt and the wait that follows. */
  readonly onRetry?:
    ((error: ClientError.AnyClientError, waitMs: number) => Effect.Effect<void>) | undefined
}

export interface Client {
  /**
   * Checks 1 to 50 URLs in one request. For 24 hours, the same idempotency key and URLs get the
   * same answer. Without an idempotency key, all attempts of one `check` share a random key. A URL
   * that is empty or too long is not sent: its outcome is INVALID_URL.
   */
  readonly check: (
    urls: ReadonlyArray<string>,
    options?: Omit<PromiseClient.CheckOptions, "signal">,
  ) => Effect.Effect<Outcomes.CheckResult, ClientError.AnyClientError>
  /**
   * Checks any number of URLs in batches of 50, with at most `concurrency` (default 4) requests in
   * flight. Each target is charged once, however often it is in the list. Emits one result for each
   * batch, in the order of the URLs. With the same idempotency key, the same list is charged only
   * once within 24 hours. With a store of `answers`, each answer is charged once.
   */
  readonly checkAll: <E, R>(
    urls: Stream.Stream<string, E, R>,
    options?: Omit<PromiseClient.CheckAllOptions, "onProgress" | "signal">,
  ) => Stream.Stream<Outcomes.CheckResult, ClientError.AnyClientError | E, R>
  /** What a check of 1 to 50 URLs would do and cost, free of charge. */
  readonly preview: (
    urls: ReadonlyArray<string>,
    options?: Omit<PromiseClient.PreviewOptions, "signal">,
  ) => Effect.Effect<Outcomes.Preview, ClientError.AnyClientError>
  /** The figures of a URL over time, free of charge. `limit` is 1 to 1000; default 100. */
  readonly history: (
    url: string,
    options?: { readonly limit?: number | undefined },
  ) => Effect.Effect<PromiseClient.History, ClientError.AnyClientError>
  /**
   * What the account has used by day or by key, free of charge: at most the newest 1000 days, or
   * the 1000 keys that used the most credits.
   */
  readonly usage: (
    options?: Pick<PromiseClient.UsageOptions, "by" | "since" | "until">,
  ) => Effect.Effect<PromiseClient.Usage, ClientError.AnyClientError>
  /** The grants, charges and corrections of the account, page by page, free of charge. */
  readonly statement: (
    options?: Omit<PromiseClient.StatementOptions, "signal">,
  ) => Effect.Effect<PromiseClient.Statement, ClientError.AnyClientError>
  /** The credits that the account can still spend. */
  readonly availableCredits: Effect.Effect<number, ClientError.AnyClientError>
  /** What the client's API key may do, how much of its budget is left, and when it expires. */
  readonly key: Effect.Effect<PromiseClient.Key, ClientError.AnyClientError>
}

/** The client as a service, for programs that use layers. */
export class AuthorityClient extends Context.Tag("authority/client/Client")<
  AuthorityClient,
  Client
>() {}

export const layer = (options: Options): Layer.Layer<AuthorityClient, ClientError.InvalidBaseUrl> =>
  Layer.effect(AuthorityClient, make(options))

export const make = ({
  apiKey,
  onRetry,
  patience,
  timeout,
  ...options
}: Options): Effect.Effect<Client, ClientError.InvalidBaseUrl> =>
  Effect.gen(function* () {
    const runPromise = Runtime.runPromise(yield* Effect.runtime())
    const client = yield* Effect.try({
      try: () =>
        PromiseClient.AuthorityMetrics({
          ...options,
          apiKey: Redacted.value(apiKey),
          timeoutMs: timeout === undefined ? undefined : Duration.toMillis(timeout),
          patienceMs: patience === undefined ? undefined : Duration.toMillis(patience),
          onRetry: onRetry && ((error, waitMs) => runPromise(onRetry(error, waitMs))),
        }),
      catch: (error) => error,
    }).pipe(
      Effect.catchAll((error) =>
        error instanceof ClientError.InvalidBaseUrl ? Effect.fail(error) : Effect.die(error),
      ),
    )

    const check: Client["check"] = (urls, { idempotencyKey = uuid(), ...options } = {}) =>
      called((signal) => client.check(urls, { ...options, idempotencyKey, signal }))

    return {
      check,
      checkAll: (urls, options) => checkAll(client, urls, options),
      preview: (urls, options) => called((signal) => client.preview(urls, { ...options, signal })),
      history: (url, options) => called((signal) => client.history(url, { ...options, signal })),
      usage: (options) => called((signal) => client.usage({ ...options, signal })),
      statement: (options) => called((signal) => client.statement({ ...options, signal })),
      availableCredits: called((signal) => client.availableCredits({ signal })),
      key: called((signal) => client.key({ signal })),
    }
  })

const checkAll = <E, R>(
  client: PromiseClient.AuthorityMetrics,
  urls: Stream.Stream<string, E, R>,
  options?: PromiseClient.CheckAllOptions,
): Stream.Stream<Outcomes.CheckResult, ClientError.AnyClientError | E, R> =>
  Effect.map(Effect.runtime<R>(), (runtime) => {
    // The promise client rethrows the failure of the caller's stream like any other error.
    let failure: Cause.Cause<E> | undefined
    const list = Stream.tapErrorCause(urls, (cause) => Effect.sync(() => void (failure = cause)))
    const reader = Stream.toAsyncIterableRuntime(list, runtime)[Symbol.asyncIterator]()
    const controller = new AbortController()
    const results = client
      .checkAll({ [Symbol.asyncIterator]: () => reader }, { ...options, signal: controller.signal })
      [Symbol.asyncIterator]()
    const end = async () => {
      controller.abort()
      results.return?.().catch(() => undefined)
      // `results.return` cannot interrupt the stream while it waits for its next URL; this can.
      await reader.return?.()
      return { done: true, value: undefined } as const
    }
    const iterable: AsyncIterable<Outcomes.CheckResult> = {
      [Symbol.asyncIterator]: () => ({ next: () => results.next(), return: end }),
    }
    return Stream.fromAsyncIterable(iterable, (error) => error).pipe(
      Stream.catchAll((error): Stream.Stream<never, ClientError.AnyClientError | E> => {
        if (failure !== undefined) return Stream.failCause(failure)
        return ClientError.isClientError(error) ? Stream.fail(error) : Stream.die(error)
      }),
    )
  }).pipe(Stream.unwrap)

const called = <A>(
  call: (signal: AbortSignal) => Promise<A>,
): Effect.Effect<A, ClientError.AnyClientError> =>
  Effect.tryPromise({ try: call, catch: (error) => error }).pipe(
    Effect.catchAll((error) =>
      ClientError.isClientError(error) ? Effect.fail(error) : Effect.die(error),
    ),
  )
