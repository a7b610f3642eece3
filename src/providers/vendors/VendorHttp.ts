/**
 * Sends HTTP requests to vendors and decodes the responses; all vendors share this code. Secrets go
 * out in headers only and never appear in errors, logs or traces. The size of a response is
 * limited. Every failure is a ProviderError.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ProviderError } from "../MetricsProvider.ts"
import { misfit as misfitOf, missingField } from "./misfit.ts"
import * as Secrets from "./Secrets.ts"
import { retryAfterMs } from "../../contract/retryAfter.ts"
import { printable } from "../../check/printable.ts"
import * as AnswerChanges from "../figures/AnswerChanges.ts"
import * as Exchange from "./Exchange.ts"
import type { Vendor } from "../Vendor.ts"

export type Call = Vendor["Type"]["call"]

export interface VendorRequest {
  readonly url: string
  /** The JSON body. The method is POST when there is a body, otherwise GET. */
  readonly json?: unknown
}

export interface VendorResponse {
  readonly status: number
  /** None when the body is not JSON, or is nested deeper than `maxDepth`. */
  readonly json: Option.Option<unknown>
  readonly retryAfter: Option.Option<Duration.Duration>
}

export interface VendorHttp {
  /**
   * Sends a request. Succeeds with any HTTP status. Fails when no complete answer arrives, or when
   * the answer is larger than `maxResponseBytes`.
   */
  readonly send: (request: VendorRequest) => Effect.Effect<VendorResponse, ProviderError>
  /**
   * Decodes the body. When the status is not 200, fails with the reason that `reasonOf` returns.
   * When the body does not match the decoder, fails with Malformed. `fields` are those that the top
   * of every answer has, as documented; without them, new fields are not noticed.
   */
  readonly decode: <A>(
    response: VendorResponse,
    decoder: (json: unknown) => Either.Either<A, ParseResult.ParseIssue>,
    fields?: ReadonlyArray<string>,
  ) => Either.Either<A, ProviderError>
  /** Makes a vendor's text safe to log: one short line without secrets and control characters. */
  readonly quote: (text: string) => string
  /** Says why a part of an answer cannot be read, safe to log, and notices a missing field. */
  readonly misfit: (issue: ParseResult.ParseIssue) => string
  /** Makes a lookup log afterwards what has changed in the vendor's answers. */
  readonly watched: (call: Call) => Call
  /**
   * Makes a ProviderError with the response's `retryAfter`, and with `detail` made safe to log by
   * `quote`.
   */
  readonly error: (
    reason: ProviderError["reason"],
    detail: string,
    response?: VendorResponse,
  ) => ProviderError
}

/**
 * Returns the reason of a ProviderError for an HTTP status. Use it only when the vendor's answer
 * contains no error code that is more exact. The vendor's words do not count, because they may
 * quote a client's URL.
 */
export const reasonOf = (status: number): ProviderError["reason"] => {
  if (status === 402) return "Exhausted"
  if (status === 408) return "Timeout"
  if (status === 429) return "Throttled"
  if (status >= 500) return "Unavailable"
  if (status >= 400) return callerStatuses.has(status) ? "Refused" : "Rejected"
  return status >= 300 ? "Refused" : "Malformed"
}

/** The statuses with which a vendor refuses the caller, whatever the call is. */
const callerStatuses = new Set([401, 403, 407])

export interface Options {
  readonly provider: string
  /** The vendor's configured URL. */
  readonly url: string
  /** Headers by lower-case name. */
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
  /** The reason of a 429 without `Retry-After`; default `Throttled`. */
  readonly reasonOf429?: ProviderError["reason"]
}

/**
 * Makes the HTTP client for a vendor. Errors, logs and traces show neither the headers in `secrets`
 * nor the possible secrets in `url`.
 */
export const make = (options: Options): VendorHttp => {
  const quote = makeQuote(options)

  const error: VendorHttp["error"] = (reason, detail, response) =>
    new ProviderError({
      provider: options.provider,
      reason,
      detail: quote(detail),
      ...Option.match(response?.retryAfter ?? Option.none(), {
        onNone: () => ({}),
        onSome: (retryAfter) => ({ retryAfter }),
      }),
    })

  const failureOf = (response: VendorResponse) => {
    const isBare429 = response.status === 429 && Option.isNone(response.retryAfter)
    const usual = reasonOf(response.status)
    const reason = isBare429 ? (options.reasonOf429 ?? usual) : usual
    return error(reason, explain(response), response)
  }

  const changes = AnswerChanges.make(options.provider, quote)

  const misfit: VendorHttp["misfit"] = (issue) => {
    const field = missingField(issue)
    if (field !== undefined) changes.notice("missing", field)
    return quote(misfitOf(issue))
  }

  const decode: VendorHttp["decode"] = (response, decoder, fields) => {
    const { json, status } = response
    if (status !== 200) return Either.left(failureOf(response))
    if (Option.isNone(json)) return Either.left(error("Malformed", "the answer is not JSON"))
    const decoded = decoder(json.value)
    if (Either.isLeft(decoded)) return Either.left(error("Malformed", misfit(decoded.left)))
    if (fields !== undefined) changes.compare(json.value, fields)
    return Either.right(decoded.right)
  }

  const watched: VendorHttp["watched"] = (call) => (targets, context) =>
    Effect.ensuring(call(targets, context), changes.report)

  return { send: makeSend(options, error), decode, error, quote, misfit, watched }
}

const makeQuote = ({ secrets, url }: Options): VendorHttp["quote"] => {
  const withoutSecrets = Secrets.remover([
    ...Object.values(secrets).flatMap((secret) => partsOfHeader(Redacted.value(secret))),
    ...Secrets.partsOf(url),
  ])
  return (text) =>
    printable(withoutSecrets(oneLine(text).slice(0, maxReadLength))).slice(0, maxDetailLength)
}

const makeSend = (options: Options, error: VendorHttp["error"]): VendorHttp["send"] => {
  const headers = {
    accept: "application/json",
    // A compressed answer cannot be read.
    "accept-encoding": "identity",
    // Some vendors refuse requests without a User-Agent.
    "user-agent": "authority-metrics",
    ...Record.map(options.secrets, (secret) => Redacted.value(secret)),
  }
  const postHeaders = { ...headers, "content-type": "application/json" }
  const shown = Secrets.remover(Secrets.partsOf(options.url))

  return ({ json, url }) => {
    const body = json === undefined ? undefined : JSON.stringify(json)
    const method = body === undefined ? "GET" : "POST"
    const attributes = { "http.request.method": method, "url.full": shown(url) }
    return Effect.useSpan(
      `${options.provider} ${method}`,
      { kind: "client", captureStackTrace: false, attributes },
      (span) =>
        Exchange.send({ url, headers: body === undefined ? headers : postHeaders, body }).pipe(
          Effect.catchTags({
            Broken: ({ cause }) => error("Unreachable", codeOf(cause)),
            TooLarge: () => error("Malformed", tooLarge),
          }),
          Effect.flatMap((answer) => {
            span.attribute("http.response.status_code", answer.status)
            return responseOf(answer)
          }),
        ),
    )
  }
}

/** Makes the value of an `authorization` header from `NAME:PASSWORD`. */
export const basic = (credentials: string): Redacted.Redacted =>
  Redacted.make(`Basic ${Secrets.basicOf(credentials)}`)

const tooLarge = `the response is larger than ${Exchange.maxResponseBytes} bytes`

/** Rejects deep nesting, because decoders are recursive and would overflow the stack. */
const parseJson = (text: string) =>
  isDeep(text) ? Option.none() : decodeJson(text.replace(byteOrderMark, ""))

const byteOrderMark = /^\ufeff/

const decodeJson = Schema.decodeUnknownOption(Schema.parseJson())

// Maximum depth of nested arrays and objects in an answer. Vendors document at most eight levels.
const maxDepth = 64

const quotationMark = 0x22
const backslash = 0x5c
const brace = 0x20
const opening = 0x7b
const closing = 0x7d

/** True when the JSON text is nested deeper than `maxDepth`. Ignores brackets in strings. */
const isDeep = (text: string): boolean => {
  let depth = 0
  let isString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quotationMark) isString = !isString
    else if (isString) i += code === backslash ? 1 : 0
    // `[` and `{` differ only in the bit `brace`, and so do `]` and `}`.
    else if ((code | brace) === opening) depth += 1
    else if ((code | brace) === closing) depth -= 1
    if (depth > maxDepth) return true
  }
  return false
}

const responseOf = ({
  body,
  headers,
  status,
}: Exchange.HttpResponse): Effect.Effect<VendorResponse> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    status,
    json: parseJson(body),
    retryAfter: Option.map(
      Option.fromNullable(retryAfterMs(headers["retry-after"], now)),
      Duration.millis,
    ),
  }))

const explain = ({ json, status }: VendorResponse): string => {
  const words = wordsOf(Option.getOrUndefined(json)) ?? (isRedirect(status) ? "a redirect" : "")
  return words === "" ? `HTTP ${status}` : `HTTP ${status}, ${words}`
}

/** The words in which a vendor explains a failure; vendors name the field differently. */
const wordsOf = (json: unknown): string | undefined => {
  if (!Predicate.isRecord(json)) return Predicate.isString(json) ? json : undefined
  return wordsOf(json["message"] ?? json["error"] ?? json["detail"])
}

const isRedirect = (status: number) => status >= 300 && status < 400

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ")

const maxDetailLength = 300

// Maximum number of characters of a vendor's text that are searched for secrets. The characters
// after that are dropped.
const maxReadLength = 10_000

// The secrets in a header. A vendor's answer may quote a bearer token without `Bearer`, or the
// decoded `NAME:PASSWORD` of HTTP Basic.
const partsOfHeader = (value: string): ReadonlyArray<string> => {
  const secret = value.replace(/^(Bearer|Basic) /, "")
  if (!value.startsWith("Basic ")) return [secret]
  const credentials = Buffer.from(secret, "base64").toString()
  return [secret, credentials, credentials.slice(credentials.indexOf(":") + 1)]
}

// The code of a network error. The message is not used, because it may contain a header's value.
const codeOf = (cause: unknown): string => {
  if (Predicate.hasProperty(cause, "code")) return String(cause.code)
  return Predicate.hasProperty(cause, "cause") ? codeOf(cause.cause) : "the connection failed"
}
