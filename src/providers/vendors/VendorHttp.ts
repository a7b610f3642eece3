/**
 * Sends HTTP requests to vendors and decodes the responses; all vendors share this code. Secrets go
 * out in headers only and never appear in errors, logs or traces. Every failure is a ProviderError.
 */
import * as Arr from "effect/Array"
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
import * as Secrets from "./Secrets.ts"
import { retryAfterMs } from "../../contract/retryAfter.ts"
import { printable } from "../../check/printable.ts"
import * as UnexpectedFields from "./UnexpectedFields.ts"
import { Exchange, maxResponseBytes } from "./Exchange.ts"
import type { Vendor } from "../Vendor.ts"

export type Call = Vendor["Type"]["call"]

export interface VendorRequest {
  readonly url: string
  /** The JSON body. The method is POST when there is a body, otherwise GET. */
  readonly json?: unknown
}

export interface VendorResponse {
  readonly status: number
  readonly json: unknown
  readonly retryAfter: Duration.Duration | undefined
}

export interface Options {
  readonly provider: string
  readonly url: string
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
  /** The reason of a 429 without `Retry-After`; default `Throttled`. */
  readonly reasonOf429?: ProviderError["reason"]
}

type Decoder<A> = (json: unknown) => Either.Either<A, ParseResult.ParseIssue>

export const make = ({ provider, reasonOf429, secrets, url }: Options) => {
  const withoutSecrets = Secrets.remover([
    ...Object.values(secrets).flatMap((secret) => partsOfHeader(Redacted.value(secret))),
    ...Secrets.partsOf(url),
  ])

  /** Makes a vendor's text safe to log: one short line without secrets and control characters. */
  const quote = (text: string) => {
    const line = text.replaceAll(/\s+/g, " ").slice(0, maxReadLength)
    return printable(withoutSecrets(line)).slice(0, maxDetailLength)
  }

  const changes = UnexpectedFields.make(provider, quote)

  /** Makes a ProviderError with the response's `retryAfter`, and with `detail` made safe to log. */
  const error = (reason: ProviderError["reason"], detail: string, response?: VendorResponse) => {
    const retryAfter = response?.retryAfter
    return new ProviderError({
      provider,
      reason,
      detail: quote(detail),
      ...(retryAfter !== undefined && { retryAfter }),
    })
  }

  const headers = {
    accept: "application/json",
    // A compressed answer cannot be read.
    "accept-encoding": "identity",
    // Some vendors refuse requests without a User-Agent.
    "user-agent": "authority-metrics",
    ...Record.map(secrets, (secret) => Redacted.value(secret)),
  }
  const postHeaders = { ...headers, "content-type": "application/json" }
  const shownUrl = Secrets.remover(Secrets.partsOf(url))

  /**
   * Sends a request. Succeeds with any HTTP status. Fails if no complete answer arrives, or if the
   * answer is too large.
   */
  const send = (request: VendorRequest): Effect.Effect<VendorResponse, ProviderError> => {
    const body = request.json === undefined ? undefined : JSON.stringify(request.json)
    const method = body === undefined ? "GET" : "POST"
    const attributes = { "http.request.method": method, "url.full": shownUrl(request.url) }
    return Effect.useSpan(
      `${provider} ${method}`,
      { kind: "client", captureStackTrace: false, attributes },
      Effect.fnUntraced(function* (span) {
        const exchange = yield* Exchange
        const answer = yield* exchange
          .send({ url: request.url, headers: body === undefined ? headers : postHeaders, body })
          .pipe(
            Effect.catchTags({
              Broken: ({ cause }) => error("Unreachable", codeOf(cause)),
              TooLarge: () =>
                error("Malformed", `the response is larger than ${maxResponseBytes} bytes`),
            }),
          )
        span.attribute("http.response.status_code", answer.status)
        const waitMs = retryAfterMs(answer.headers["retry-after"], yield* Clock.currentTimeMillis)
        return {
          status: answer.status,
          json: Option.getOrUndefined(decodeJson(answer.body.replace(byteOrderMark, ""))),
          retryAfter: waitMs === undefined ? undefined : Duration.millis(waitMs),
        }
      }),
    )
  }

  const failureOf = (response: VendorResponse) => {
    const isBare429 = response.status === 429 && response.retryAfter === undefined
    const usual = reasonOf(response.status)
    return error(isBare429 ? (reasonOf429 ?? usual) : usual, explain(response), response)
  }

  /**
   * Decodes the body. Fails with the reason from `reasonOf` if the status is not 200, and with
   * Malformed if the body does not match. `fields` are the documented top-level fields of every
   * answer; without them, new fields are not noticed.
   */
  const decode = <A>(
    response: VendorResponse,
    decoder: Decoder<A>,
    fields?: ReadonlyArray<string>,
  ): Either.Either<A, ProviderError> => {
    const { json, status } = response
    if (status !== 200) return Either.left(failureOf(response))
    if (json === undefined) return Either.left(error("Malformed", "the answer is not JSON"))
    const decoded = decoder(json)
    if (Either.isLeft(decoded)) return Either.left(error("Malformed", changes.misfit(decoded.left)))
    if (fields !== undefined) changes.compare(json, fields)
    return Either.right(decoded.right)
  }

  const decodeAll = <A>(items: ReadonlyArray<unknown>, decoder: Decoder<A>) => {
    const [[issue], values] = Arr.partitionMap(items, decoder)
    return { values, misfit: issue && changes.misfit(issue) }
  }

  /** Makes the vendor. After each call, it logs what has changed in the vendor's answers. */
  const vendor = (
    definition: Pick<Vendor["Type"], "batchSize" | "call" | "status"> &
      Partial<Pick<Vendor["Type"], "billsUnknown" | "maxRefusals">>,
  ): Vendor["Type"] => ({
    name: provider,
    maxRefusals: Number.POSITIVE_INFINITY,
    billsUnknown: true,
    ...definition,
    call: (targets, context) => Effect.ensuring(definition.call(targets, context), changes.report),
  })

  return { send, decode, decodeAll, error, misfit: changes.misfit, quote, vendor }
}

export type VendorHttp = ReturnType<typeof make>

/**
 * Returns the reason of a ProviderError for an HTTP status. Use it only if the vendor's answer
 * contains no error code, which would be more precise. The vendor's wording is ignored, because it
 * may quote a client's URL.
 */
export const reasonOf = (status: number): ProviderError["reason"] => {
  if (status === 402) return "Exhausted"
  if (status === 408) return "Timeout"
  if (status === 429) return "Throttled"
  if (status >= 500) return "Unavailable"
  if (status >= 400) return callerStatuses.has(status) ? "Refused" : "Rejected"
  return status >= 300 ? "Refused" : "Malformed"
}

/** The statuses that mean that the vendor refuses the caller, whatever the call. */
const callerStatuses = new Set([401, 403, 407])

export const basic = (credentials: string): Redacted.Redacted =>
  Redacted.make(`Basic ${Secrets.basicOf(credentials)}`)

const byteOrderMark = /^\ufeff/

const decodeJson = Schema.decodeUnknownOption(Schema.parseJson())

const explain = ({ json, status }: VendorResponse): string => {
  const words = wordsOf(json) ?? (status >= 300 && status < 400 ? "a redirect" : "")
  return words === "" ? `HTTP ${status}` : `HTTP ${status}, ${words}`
}

/** Returns the vendor's explanation of a failure. Vendors name its field differently. */
const wordsOf = (json: unknown): string | undefined => {
  if (!Predicate.isRecord(json)) return Predicate.isString(json) ? json : undefined
  return wordsOf(json["message"] ?? json["error"] ?? json["detail"])
}

const maxDetailLength = 300

/** Only this many characters of a vendor's text are searched for secrets; the rest is dropped. */
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
