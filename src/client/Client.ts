/**
 * The interface as a client sees it, made from its contract: typed answers, typed errors, and
 * requests that are sent again where that helps and are never paid for twice.
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
  /** Where the service is, as `https://authority.example.com`. */
  readonly baseUrl: string | URL
  /** Of one attempt; a minute by default. The service itself gives up after half of that. */
  readonly timeout?: Duration.DurationInput | undefined
}

/** What became of a batch. */
export interface Report {
  /** One for each URL, in their order. */
  readonly outcomes: ReadonlyArray<Batch.Outcome>
  readonly creditsUsed: number
  /** What the operator, and the account's statement, can find the request by. */
  readonly requestId: string | undefined
  /** The answer had been given before, and is not paid for again. */
  readonly isReplay: boolean
}

export interface Client {
  /**
   * Checks 1 to 50 URLs in one request. With an idempotency key of the caller's, the same key and
   * URLs bring the same answer back for 24 hours; without, the attempts of this call share one.
   */
  readonly check: (
    urls: ReadonlyArray<string>,
    options?: { readonly idempotencyKey?: string | undefined },
  ) => Effect.Effect<Report, ClientError.AnyClientError>
  /**
   * Checks any number of URLs, 50 to a request and `concurrency` (4) requests at a time, and gives
   * the outcomes in the order of the URLs. What no batch can contain is INVALID_URL. Under one
   * idempotency key, the same list is not paid for again within 24 hours.
   */
  readonly checkAll: <E, R>(
    urls: Stream.Stream<string, E, R>,
    options?: {
      readonly idempotencyKey?: string | undefined
      readonly concurrency?: number | undefined
    },
  ) => Stream.Stream<Batch.Outcome, ClientError.AnyClientError | E, R>
  /** What the account may still spend. */
  readonly availableCredits: Effect.Effect<number, ClientError.AnyClientError>
}

/** The client under a name, for programs that provide what they need as layers. */
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
        : new ClientError.Unauthorized({ message: "The API key has characters that no key has." })

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

/** A batch of up to 50 whatever strings: what the contract would refuse is INVALID_URL. */
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

/** The answer to the attempt under way, which the contract's own errors do not carry. */
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
          // A redirect would take the key along to wherever it leads.
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

/** One request and its answer, within the time of one. */
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

/** Looked at before it is sent, with every violation at once. */
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
    // A string of RFC 8941.
    headers: { "idempotency-key": `"${idempotencyKey.replaceAll(/["\\]/g, "\\$&")}"` },
  })
}

/** Of a key that is none, the platform's error would show it. */
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
