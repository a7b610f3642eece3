/**
 * The client for programs that use Effect. It decodes answers with the contract's schemas and has
 * typed errors. It retries transient failures, and idempotency keys prevent a double charge.
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { v4 as uuid } from "uuid"
import { BatchResponse, CreditsResponse } from "../contract/Api.ts"
import { maxUrls } from "../contract/Limits.ts"
import { batchPath, creditsPath } from "../contract/Wire.ts"
import { type Answer, bodyOf } from "./Answer.ts"
import * as ClientError from "./ClientError.ts"
import { connectionFailed, failureOf } from "./failureOf.ts"
import * as Outcomes from "./Outcomes.ts"
import * as Request from "./Request.ts"
import * as Retry from "./Retry.ts"

export * from "./ClientError.ts"
export type { CheckResult, Failure, Outcome, Success } from "./Outcomes.ts"

export interface Options {
  readonly apiKey: Redacted.Redacted
  /** The base URL of the service, for example `https://authority.example.com`. */
  readonly baseUrl: string | URL
  /**
   * The timeout of one attempt; default 1 minute, which is twice the service's default time limit.
   */
  readonly timeout?: Duration.DurationInput | undefined
  /** How long to retry a failing request; default 30 seconds, 0 for a single attempt. */
  readonly patience?: Duration.DurationInput | undefined
  /**
   * Called before each retry, with the error of the failed attempt and the wait before the retry.
   */
  readonly onRetry?:
    ((error: ClientError.AnyClientError, waitMs: number) => Effect.Effect<void>) | undefined
}

export interface Client {
  /**
   * Checks 1 to 50 URLs in one request. For 24 hours, the same idempotency key and URLs get the
   * same answer. Without an idempotency key, all attempts of one `check` share a random key.
   */
  readonly check: (
    urls: ReadonlyArray<string>,
    options?: { readonly idempotencyKey?: string | undefined },
  ) => Effect.Effect<Outcomes.CheckResult, ClientError.AnyClientError>
  /**
   * Checks any number of URLs in batches of 50, with one HTTP request for each batch and at most
   * `concurrency` (default 4) requests in flight. Emits one result for each batch, in the order of
   * the URLs. A URL that is empty or too long is not sent: its outcome is INVALID_URL, and the
   * other URLs are still checked. With the same idempotency key, the same list is charged only once
   * within 24 hours.
   */
  readonly checkAll: <E, R>(
    urls: Stream.Stream<string, E, R>,
    options?: {
      readonly idempotencyKey?: string | undefined
      readonly concurrency?: number | undefined
    },
  ) => Stream.Stream<Outcomes.CheckResult, ClientError.AnyClientError | E, R>
  /** The credits that the account can still spend. */
  readonly availableCredits: Effect.Effect<number, ClientError.AnyClientError>
}

/** The client as a service, for programs that use layers. */
export class AuthorityClient extends Context.Tag("authority/client/Client")<
  AuthorityClient,
  Client
>() {}

export const layer = (
  options: Options,
): Layer.Layer<AuthorityClient, ClientError.InvalidBaseUrl, HttpClient.HttpClient> =>
  Layer.effect(AuthorityClient, make(options))

export const make = (
  options: Options,
): Effect.Effect<Client, ClientError.InvalidBaseUrl, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const send = yield* sender(options)
    const isSendable = Request.keyHeader(Redacted.value(options.apiKey)) !== undefined
    const persistently = <A>(attempt: Effect.Effect<A, ClientError.AnyClientError>) =>
      isSendable
        ? retry(attempt, options)
        : Effect.fail(new ClientError.Unauthorized({ message: Request.invalidKey }))

    const check: Client["check"] = (urls, { idempotencyKey = uuid() } = {}) =>
      Effect.suspend(() => {
        const headers = Request.batchHeader(urls, idempotencyKey)
        if (headers instanceof ClientError.ValidationError) return Effect.fail(headers)
        const request = HttpClientRequest.post(batchPath, { headers }).pipe(
          HttpClientRequest.bodyUnsafeJson({ urls }),
        )
        return persistently(
          send(request, BatchResponse, (body, answer) => Outcomes.resultOf(urls, body, answer)),
        )
      })

    const availableCredits = persistently(
      send(
        HttpClientRequest.get(creditsPath),
        CreditsResponse,
        ({ data }) => data.availableCredits,
      ),
    )

    const checkAll: Client["checkAll"] = (
      urls,
      { concurrency = 4, idempotencyKey = uuid() } = {},
    ) =>
      urls.pipe(
        Stream.grouped(maxUrls),
        Stream.zipWithIndex,
        Stream.mapEffect(
          ([batch, i]) =>
            checkLeniently(check, Chunk.toReadonlyArray(batch), `${idempotencyKey}-${i}`),
          { concurrency },
        ),
      )

    return { check, checkAll, availableCredits }
  })

/**
 * Checks up to 50 arbitrary strings. A string that is empty or too long is not sent: its outcome is
 * INVALID_URL.
 */
export const checkLeniently = (
  check: Client["check"],
  urls: ReadonlyArray<string>,
  idempotencyKey: string,
): ReturnType<Client["check"]> => {
  const { admissible, complete } = Outcomes.lenient(urls)
  return admissible.length === 0
    ? Effect.succeed(complete(Outcomes.unsent))
    : Effect.map(check(admissible, { idempotencyKey }), complete)
}

/**
 * Makes a function that sends a request once, without retries, and decodes the answer with the
 * schema.
 */
const sender = ({ apiKey, baseUrl, timeout = "1 minute" }: Options) =>
  Effect.gen(function* () {
    const base = Request.baseUrlOf(baseUrl)
    if (base instanceof ClientError.InvalidBaseUrl) return yield* Effect.fail(base)
    const headers = { ...Request.userAgentHeader(), ...Request.keyHeader(Redacted.value(apiKey)) }
    const client = (yield* HttpClient.HttpClient).pipe(
      HttpClient.mapRequest(HttpClientRequest.prependUrl(base)),
      HttpClient.mapRequest(HttpClientRequest.setHeaders(headers)),
      HttpClient.transformResponse(
        // Following a redirect would send the API key to another address.
        Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
      ),
    )
    return <A, I, B>(
      request: HttpClientRequest.HttpClientRequest,
      schema: Schema.Schema<A, I>,
      read: (body: A, answer: Answer) => B | ClientError.UnexpectedAnswer,
    ): Effect.Effect<B, ClientError.AnyClientError> =>
      client.execute(request).pipe(
        // Keep only the error's cause, or its message if it has no cause. The error itself contains
        // the request, and so the API key.
        Effect.mapError(({ cause, message }) => connectionFailed(cause ?? message)),
        Effect.flatMap(answerOf),
        Effect.flatMap((answer) => judged(answer, schema, read)),
        Effect.timeoutFail({
          duration: timeout,
          onTimeout: () =>
            new ClientError.TimedOut({ message: "The service did not answer in time." }),
        }),
      )
  })

const answerOf = ({ headers, status, text }: HttpClientResponse) =>
  Effect.mapBoth(text, {
    onFailure: ({ cause }) => connectionFailed(cause, headers["x-request-id"]),
    onSuccess: (text): Answer => ({ status, header: (name) => headers[name], body: bodyOf(text) }),
  })

/** Decodes an answer. Every error contains the answer's body. */
const judged = <A, I, B>(
  answer: Answer,
  schema: Schema.Schema<A, I>,
  read: (body: A, answer: Answer) => B | ClientError.UnexpectedAnswer,
): Effect.Effect<B, ClientError.AnyClientError> => {
  if (answer.status !== 200) return Effect.fail(failureOf(answer))
  const result = Effect.try(() => read(Schema.decodeUnknownSync(schema)(answer.body), answer))
  return Effect.matchEffect(result, {
    onFailure: ({ error }) => Effect.fail(failureOf(answer, error)),
    onSuccess: (result) =>
      result instanceof ClientError.UnexpectedAnswer ? Effect.fail(result) : Effect.succeed(result),
  })
}

const retry = <A>(
  attempt: Effect.Effect<A, ClientError.AnyClientError>,
  { onRetry = () => Effect.void, patience = "30 seconds" }: Options,
): Effect.Effect<A, ClientError.AnyClientError> => {
  const patienceMs = Duration.toMillis(patience)
  const after = (failures: Retry.Failures): Effect.Effect<A, ClientError.AnyClientError> =>
    Effect.catchAll(attempt, (error) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const random = yield* Random.next
        const next = Retry.next(failures, error, { now, random, patienceMs })
        if (next === undefined) return yield* Effect.fail(error)
        yield* onRetry(error, next.waitMs)
        yield* Effect.sleep(next.waitMs)
        return yield* after(next.failures)
      }),
    )
  return Effect.flatMap(Clock.currentTimeMillis, (now) => after(Retry.begin(now)))
}
