/**
 * One HTTP exchange with a vendor, the same for all of them: the secret goes out in a header and
 * nowhere else, the answer is limited in size, and whatever goes wrong is a ProviderError.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ProviderError } from "../MetricsProvider.ts"
import * as Secrets from "../Secrets.ts"
import * as Exchange from "./Exchange.ts"

export interface Request {
  readonly url: string
  /** A request with it is a POST, one without is a GET. */
  readonly json?: unknown
}

export interface Reply {
  readonly status: number
  /** None when the body is no JSON. */
  readonly json: Option.Option<unknown>
  readonly retryAfter: Option.Option<Duration.Duration>
}

export interface Wire {
  /** Any status is a reply; fails only when there was no whole answer, or far too much of one. */
  readonly send: (request: Request) => Effect.Effect<Reply, ProviderError>
  /**
   * What the body says, by a decoder of its schema; fails when the status is not 200, or with Malformed when the
   * body is none of the kind.
   */
  readonly decode: <A>(
    reply: Reply,
    decoder: (json: unknown) => Either.Either<A, ParseResult.ParseIssue>,
  ) => Either.Either<A, ProviderError>
  /** What a vendor wrote, fit for a log: one short line without secrets and control characters. */
  readonly quote: (text: string) => string
  /** An error that carries the reply's `retryAfter`; its detail is quoted. */
  readonly error: (reason: ProviderError["reason"], detail: string, reply?: Reply) => ProviderError
}

/** What a status means that the vendor explains no further. */
export const reasonOf = (status: number): ProviderError["reason"] => {
  if (status === 429) return "Throttled"
  if (status === 408) return "Timeout"
  if (status >= 500) return "Unavailable"
  return status >= 300 ? "Refused" : "Malformed"
}

/**
 * `secrets` are headers, by their lower-case names. No error, log or trace shows them, nor what may
 * be a secret in `url`, the vendor's address as it is configured.
 */
export const make = (options: {
  readonly provider: string
  readonly url: string
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
}): Wire => {
  const secrets = Record.map(options.secrets, (secret) => Redacted.value(secret))
  // Some vendors refuse clients without a name.
  const headers = { accept: "application/json", "user-agent": "authority-metrics", ...secrets }
  const secretParts = Secrets.partsOf(options.url)
  const shown = Secrets.remover(secretParts)
  const withoutSecrets = Secrets.remover([
    ...Object.values(secrets).flatMap(partsOfHeader),
    ...secretParts,
  ])
  const postHeaders = { ...headers, "content-type": "application/json" }

  const quote: Wire["quote"] = (text) =>
    printable(withoutSecrets(oneLine(text).slice(0, maxReadLength))).slice(0, maxDetailLength)

  const error: Wire["error"] = (reason, detail, reply) =>
    new ProviderError({
      provider: options.provider,
      reason,
      detail: quote(detail),
      ...Option.match(reply?.retryAfter ?? Option.none(), {
        onNone: () => ({}),
        onSome: (retryAfter) => ({ retryAfter }),
      }),
    })

  const send: Wire["send"] = ({ json, url }) => {
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
            return replyOf(answer)
          }),
        ),
    )
  }

  const decode: Wire["decode"] = (reply, decoder) => {
    const { json, status } = reply
    if (status !== 200) return Either.left(error(reasonOf(status), explain(reply), reply))
    if (Option.isNone(json)) return Either.left(error("Malformed", "the answer is no JSON"))
    return Either.mapLeft(decoder(json.value), (issue) =>
      error("Malformed", ParseResult.TreeFormatter.formatIssueSync(issue)),
    )
  }

  return { send, decode, error, quote }
}

/** The value of an `authorization` header, from `NAME:PASSWORD`. */
export const basic = (credentials: string): Redacted.Redacted =>
  Redacted.make(`Basic ${Buffer.from(credentials).toString("base64")}`)

const tooLarge = `the answer is larger than ${Exchange.maxAnswerBytes} bytes`

/** Code that recurses over a value which is nested too deeply overflows the stack. */
const parseJson = (text: string) => (isDeep(text) ? Option.none() : decodeJson(text))

const decodeJson = Schema.decodeUnknownOption(Schema.parseJson())

/** No vendor documents more than eight levels. */
const maxDepth = 64

const quotationMark = 0x22
const backslash = 0x5c
const brace = 0x20
const opening = 0x7b
const closing = 0x7d

/** Brackets within strings do not count. */
const isDeep = (text: string): boolean => {
  let depth = 0
  let isString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quotationMark) isString = !isString
    else if (isString) i += code === backslash ? 1 : 0
    // Brackets and braces of either kind differ in this one bit.
    else if ((code | brace) === opening) depth += 1
    else if ((code | brace) === closing) depth -= 1
    if (depth > maxDepth) return true
  }
  return false
}

const replyOf = ({ body, headers, status }: Exchange.Answer): Effect.Effect<Reply> =>
  Effect.map(retryAfterOf(headers["retry-after"]), (retryAfter) => ({
    status,
    json: parseJson(body),
    retryAfter,
  }))

/** A wrong date must not keep a vendor from being asked for years. */
const longestPauseMs = 3_600_000

/** Seconds or a date, as RFC 9110 has it. */
const retryAfterOf = (text: string | undefined) =>
  text === undefined
    ? Effect.succeedNone
    : Effect.map(Clock.currentTimeMillis, (now) => {
        const ms = /^\d{1,7}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
        return Number.isFinite(ms)
          ? Option.some(Duration.millis(Math.min(ms, longestPauseMs)))
          : Option.none()
      })

/** The status, and what the vendor says with it where it uses the customary word. */
const explain = ({ json, status }: Reply): string =>
  Option.match(Option.flatMap(json, Schema.decodeUnknownOption(Complaint)), {
    onNone: () => `HTTP ${status}`,
    onSome: ({ message }) => `HTTP ${status}: ${message}`,
  })

const Complaint = Schema.Struct({ message: Schema.String })

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ")

/** Escapes what is not seen, or changes how the text around it is seen. */
const printable = (text: string) =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )

const maxDetailLength = 300

/** How much of a text is searched for secrets. */
const maxReadLength = 10_000

/** A header as a whole, and the credentials of a basic one: a vendor may echo them decoded. */
const partsOfHeader = (value: string): ReadonlyArray<string> => {
  const [, encoded] = /^Basic (\S+)$/.exec(value) ?? []
  if (encoded === undefined) return [value]
  const credentials = Buffer.from(encoded, "base64").toString()
  return [value, credentials, credentials.slice(credentials.indexOf(":") + 1)]
}

/** Only the code of a network error: its message may quote the header that it complains of. */
const codeOf = (cause: unknown): string => {
  if (Predicate.hasProperty(cause, "code")) return String(cause.code)
  return Predicate.hasProperty(cause, "cause") ? codeOf(cause.cause) : "the connection failed"
}
