/**
 * One HTTP exchange with a vendor, the same for all of them: the secret goes out in a header and
 * nowhere else, the answer is limited in size, and whatever goes wrong is a ProviderError.
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Headers from "@effect/platform/Headers"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ProviderError } from "../MetricsProvider.ts"

export interface Reply {
  readonly status: number
  /** None when the body is no JSON. */
  readonly json: Option.Option<unknown>
  readonly retryAfter: Option.Option<Duration.Duration>
}

export interface Wire {
  /** Any status is a reply; fails only when there was no whole answer, or far too much of one. */
  readonly send: (
    request: HttpClientRequest.HttpClientRequest,
  ) => Effect.Effect<Reply, ProviderError>
  /**
   * What the body says, by its schema; fails when the status is not 200, or with Malformed when the
   * body is none of the kind.
   */
  readonly decode: <A, I>(
    reply: Reply,
    schema: Schema.Schema<A, I>,
  ) => Either.Either<A, ProviderError>
  /** An error that carries the reply's `retryAfter`, and none of the secrets. */
  readonly error: (reason: ProviderError["reason"], detail: string, reply?: Reply) => ProviderError
}

/** The largest answer that is read, in bytes: some twenty times what 50 targets take. */
export const maxReplyBytes = 2 * 1024 * 1024

/** What a status means that the vendor explains no further. */
export const reasonOf = (status: number): ProviderError["reason"] => {
  if (status === 429) return "Throttled"
  if (status === 408) return "Timeout"
  if (status >= 500) return "Unavailable"
  return status >= 300 ? "Refused" : "Malformed"
}

/** `secrets` are headers, by their lower-case names, that no error, log or trace may show. */
export const make = (options: {
  readonly provider: string
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
}): Effect.Effect<Wire, never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (http): Wire => {
    // Whom we ask on whose behalf is no business of the vendor's tracing.
    const client = HttpClient.withTracerPropagation(http, false)
    const secrets = Record.map(options.secrets, (secret) => Redacted.value(secret))

    const error: Wire["error"] = (reason, detail, reply) =>
      new ProviderError({
        provider: options.provider,
        reason,
        detail: oneLine(withoutSecrets(detail, Object.values(secrets))),
        ...Option.match(reply?.retryAfter ?? Option.none(), {
          onNone: () => ({}),
          onSome: (retryAfter) => ({ retryAfter }),
        }),
      })

    const unreachable = (cause: unknown) => error("Unreachable", codeOf(cause))

    const send: Wire["send"] = (request) =>
      client.execute(HttpClientRequest.setHeaders(request, secrets)).pipe(
        Effect.mapError(unreachable),
        Effect.flatMap((response) =>
          Effect.all({
            status: Effect.succeed(response.status),
            json: Effect.map(textOf(response, unreachable, error), parseJson),
            retryAfter: retryAfterOf(response),
          }),
        ),
        Effect.locallyWith(Headers.currentRedactedNames, (names) => [
          ...names,
          ...Object.keys(secrets),
        ]),
      )

    const decode: Wire["decode"] = (reply, schema) => {
      const { json, status } = reply
      if (status !== 200) return Either.left(error(reasonOf(status), explain(reply), reply))
      if (Option.isNone(json)) return Either.left(error("Malformed", "the answer is no JSON"))
      return Either.mapLeft(Schema.decodeUnknownEither(schema)(json.value), ({ message }) =>
        error("Malformed", message),
      )
    }

    return { send, decode, error }
  })

/** The value of an `authorization` header, from `NAME:PASSWORD`. */
export const basic = (credentials: string): Redacted.Redacted =>
  Redacted.make(`Basic ${Buffer.from(credentials).toString("base64")}`)

/**
 * The client for vendors: `fetch`, which costs nothing to load, keeps connections open, and follows
 * no redirect here, for it would take the secret along.
 */
export const client: Layer.Layer<HttpClient.HttpClient> = FetchHttpClient.layer.pipe(
  Layer.provide(Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" })),
)

const textOf = (
  response: HttpClientResponse.HttpClientResponse,
  unreachable: (cause: unknown) => ProviderError,
  error: Wire["error"],
): Effect.Effect<string, ProviderError> =>
  Effect.suspend(() => {
    const chunks: Array<Uint8Array> = []
    let size = 0
    return response.stream.pipe(
      Stream.catchAll((cause) =>
        cause.reason === "EmptyBody" ? Stream.empty : Stream.fail(unreachable(cause)),
      ),
      Stream.runForEach((chunk) => {
        chunks.push(chunk)
        size += chunk.byteLength
        return size > maxReplyBytes
          ? error("Malformed", `the answer is larger than ${maxReplyBytes} bytes`)
          : Effect.void
      }),
      Effect.map(() => Buffer.concat(chunks).toString("utf8")),
    )
  })

const parseJson = Schema.decodeUnknownOption(Schema.parseJson())

/** Seconds or a date, as RFC 9110 has it. */
const retryAfterOf = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const text = response.headers["retry-after"] ?? ""
    const ms = /^\d{1,7}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
    return Number.isFinite(ms) ? Option.some(Duration.millis(ms)) : Option.none()
  })

/** The status, and what the vendor says with it where it uses the customary word. */
const explain = ({ json, status }: Reply): string =>
  Option.match(Option.flatMap(json, Schema.decodeUnknownOption(Complaint)), {
    onNone: () => `HTTP ${status}`,
    onSome: ({ message }) => `HTTP ${status}: ${message}`,
  })

const Complaint = Schema.Struct({ message: Schema.String })

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").slice(0, maxDetailLength)

const maxDetailLength = 300

const withoutSecrets = (text: string, secrets: ReadonlyArray<string>) =>
  secrets.reduce((text, secret) => text.replaceAll(secret, "<redacted>"), text)

/** Only the code of a network error: its message may quote the header that it complains of. */
const codeOf = (cause: unknown): string => {
  if (Predicate.hasProperty(cause, "code")) return String(cause.code)
  return Predicate.hasProperty(cause, "cause") ? codeOf(cause.cause) : "the connection failed"
}
