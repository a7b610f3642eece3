/**
 * The client for programs that use Effect, derived from the contract. Answers and errors are typed.
 * It retries transient failures, and idempotency keys prevent a double charge.
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { v4 as uuid } from "uuid"
import { Api, BatchRequest } from "../contract/Api.ts"
import * as Issues from "../contract/Issues.ts"
import { maxUrls } from "../contract/Limits.ts"
import * as Batch from "./Batch.ts"
import * as ClientError from "./ClientError.ts"
import { failureOf } from "./failureOf.ts"
import * as Retry from "./Retry.ts"

export * from "./ClientError.ts"
export type { Failure, Outcome, Success } from "./Batch.ts"

export interface Options extends Partial<Retry.Options> {
  readonly apiKey: Redacted.Redacted
  /** The base URL of the service, for example `https://authority.example.com`. */
  readonly baseUrl: string | URL
  /** The timeout of one attempt; default 1 minute. The service's own default is half of that. */
  readonly timeout?: Duration.DurationInput | undefined
}

/** The answer to a batch. */
export interface Report {
  /** One outcome per URL, in the order of the URLs. */
  readonly outcomes: ReadonlyArray<Batch.Outcome>
  readonly creditsUsed: number
  /** The id of the request in the service's log and in the account's statement. */
  readonly requestId: string | undefined
  /** True for a replay: the answer is a stored one, and nothing was charged again. */
  readonly isReplay: boolean
}

export interface Client {
  /**
   * Checks 1 to 50 URLs in one request. For 24 hours, the same idempotency key and URLs get the
   * same answer. Without a key, all attempts of one call share a random key.
   */
  readonly check: (
    urls: ReadonlyArray<string>,
    options?: { readonly idempotencyKey?: string | undefined },
  ) => Effect.Effect<Report, ClientError.AnyClientError>
  /**
   * Checks any number of URLs, 50 per request, with `concurrency` (default 4) requests in flight.
   * Emits the outcomes in the order of the URLs. A URL that is empty or too long is INVALID_URL.
   * With the same idempotency key, the same list is charged only once within 24 hours.
   */
  readonly checkAll: <E, R>(
    urls: Stream.Stream<string, E, R>,
    options?: {
      readonly idempotencyKey?: string | undefined
      readonly concurrency?: number | undefined
    },
  ) => Stream.Stream<Batch.Outcome, ClientError.AnyClientError | E, R>
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
): Layer.Layer<AuthorityClient, never, HttpClient.HttpClient> =>
  Layer.effect(AuthorityClient, make(options))

export const make = (options: Options): Effect.Effect<Client, never, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const api = yield* contract(options)
    const persistently = <A>(attempt: Effect.Effect<A, ClientError.AnyClientError>) =>
      isHeaderValue(Redacted.value(options.apiKey))
        ? Retry.retry(attempt, {
            patience: options.patience ?? "30 seconds",
            onRetry: options.onRetry ?? (() => Effect.void),
          })
        : new ClientError.Unauthorized({ message: "The API key contains invalid characters." })

    const check: Client["check"] = (urls, { idempotencyKey = uuid() } = {}) =>
      Effect.flatMap(request(urls, idempotencyKey), (batch) =>
        persistently(
          attempt(options, api.checkBatch({ ...batch, withResponse: true }), ([answer, response]) =>
            report(batch.payload, answer, response),
          ),
        ),
      )

    const availableCredits = persistently(
      attempt(options, api.availableCredits({}), ({ data }) =>
        Effect.succeed(data.availableCredits),
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
        Stream.mapConcat(({ outcomes }) => outcomes),
      )

    return { check, checkAll, availableCredits }
  })

/** Checks up to 50 arbitrary strings. Those that the contract refuses become INVALID_URL. */
export const checkLeniently = (
  check: Client["check"],
  urls: ReadonlyArray<string>,
  idempotencyKey: string,
): Effect.Effect<Pick<Report, "outcomes" | "creditsUsed">, ClientError.AnyClientError> => {
  const admissible = urls.filter(Batch.isAdmissible)
  return admissible.length === 0
    ? Effect.succeed({ outcomes: Batch.withInadmissible(urls, []), creditsUsed: 0 })
    : Effect.map(check(admissible, { idempotencyKey }), ({ creditsUsed, outcomes }) => ({
        outcomes: Batch.withInadmissible(urls, outcomes),
        creditsUsed,
      }))
}

/** Holds the response to the current attempt, because the contract's errors do not carry it. */
class LastAnswer extends Context.Tag("authority/client/LastAnswer")<
  LastAnswer,
  { response: HttpClientResponse | undefined }
>() {}

const contract = ({ apiKey, baseUrl }: Options) => {
  const key = Redacted.value(apiKey).trim()
  return Effect.flatMap(HttpClient.HttpClient, (client) =>
    HttpApiClient.makeWith(Api, {
      baseUrl: baseUrl.toString().replace(/\/+$/, ""),
      httpClient: client.pipe(
        HttpClient.mapRequest(HttpClientRequest.setHeader("x-api-key", key)),
        HttpClient.transformResponse(
          // Following a redirect would send the API key to another address.
          Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
        ),
        HttpClient.tap((response) =>
          Effect.map(LastAnswer, (last) => {
            last.response = response
          }),
        ),
      ),
    }),
  )
}

/** Makes one attempt. Fails with TimedOut when it exceeds its timeout. */
const attempt = <A, B>(
  { timeout = "1 minute" }: Options,
  call: Effect.Effect<A, Parameters<typeof failureOf>[0], LastAnswer>,
  read: (answer: A) => Effect.Effect<B, ClientError.AnyClientError>,
): Effect.Effect<B, ClientError.AnyClientError> =>
  Effect.suspend(() => {
    const last: LastAnswer["Type"] = { response: undefined }
    return call.pipe(
      Effect.mapError((error) => failureOf(error, last.response)),
      Effect.provideService(LastAnswer, last),
      Effect.flatMap(read),
      Effect.timeoutFail({
        duration: timeout,
        onTimeout: () => new ClientError.TimedOut({ message: "The service took too long." }),
      }),
    )
  })

/** Validates a batch before it is sent. Fails with every violation at once. */
const request = (urls: ReadonlyArray<string>, idempotencyKey: string) => {
  const checked = ParseResult.validateEither(BatchRequest, { errors: "all" })({ urls })
  const issues = [
    ...(checked._tag === "Left" ? Issues.fromParseIssue(checked.left) : []),
    ...(printable.test(idempotencyKey) ? [] : [Issues.invalidIdempotencyKey]),
  ]
  if (issues.length > 0) {
    const message = issues.map((issue) => issue.message).join("; ")
    return Effect.fail(new ClientError.ValidationError({ message, issues }))
  }
  return Effect.succeed({
    payload: { urls },
    // A string as in RFC 8941.
    headers: { "idempotency-key": `"${idempotencyKey.replaceAll(/["\\]/g, "\\$&")}"` },
  })
}

/** Checked first, because the platform's error for an invalid header would contain the API key. */
const isHeaderValue = (key: string) => /^[\x21-\x7e]*$/.test(key.trim())

const printable = /^[\x20-\x7e]{1,255}$/

const report = (
  payload: Parameters<typeof Batch.inOrder>[0],
  answer: Parameters<typeof Batch.inOrder>[1],
  { headers, status }: HttpClientResponse,
): Effect.Effect<Report, ClientError.UnexpectedAnswer> => {
  const requestId = headers["x-request-id"]
  const outcomes = Batch.inOrder(payload, answer)
  return outcomes === undefined
    ? new ClientError.UnexpectedAnswer({
        message: "The answer leaves out some of the URLs.",
        status,
        requestId,
      })
    : Effect.succeed({
        outcomes,
        creditsUsed: answer.quota.creditsUsed,
        requestId,
        isReplay: headers["idempotent-replayed"] === "true",
      })
}
