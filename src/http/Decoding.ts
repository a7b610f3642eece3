/**
 * Reads the body of a request, and makes the 400 of every endpoint. The framework would accept
 * other content types than JSON, and report only the first violation in a body of another form.
 */
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { InvalidRequest, PayloadTooLarge, payloadTooLargeMessage } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"
import { maxBodyBytes } from "../contract/Limits.ts"

/** The schemas by which the framework decodes a request to an endpoint. */
export interface Endpoint {
  readonly pathSchema: Part
  readonly urlParamsSchema: Part
  readonly payloadSchema: Part
  readonly headersSchema: Part
}

type Part = Option.Option<Pick<Schema.Schema.All, "ast">>

/** Wraps the handler of an endpoint, inside of the middleware that admits the request. */
export const explained = (endpoint: Endpoint) => {
  const hasBody = Option.isSome(endpoint.payloadSchema)
  const ofPath = judgeOf(endpoint.pathSchema, Issues.decoder)
  const ofQuery = judgeOf(endpoint.urlParamsSchema, Issues.decoder)
  const ofBody = judgeOf(endpoint.payloadSchema, Issues.decoder)
  const ofHeaders = judgeOf(endpoint.headersSchema, Issues.headersDecoder)
  // Where every field is optional, a request without a body counts as an empty object.
  const isOptional = ofBody({}).length === 0

  return <A, E, R>(app: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { params } = yield* HttpRouter.RouteContext
      const query = yield* HttpServerRequest.ParsedSearchParams
      const isEmpty = !hasBody || (isOptional && isAbsent(request))
      const body = isEmpty ? {} : yield* json(request)
      // Gives this value to the framework and to handlers that ask the request for its JSON.
      Object.defineProperty(request, "json", { value: Effect.succeed(body) })
      const issues = [...ofPath(params), ...ofQuery(query), ...ofBody(body)]
      const all = issues.length > 0 ? issues : ofHeaders(request.headers)
      return all.length > 0 ? yield* InvalidRequest.because(all, hasBody) : yield* app
    })
}

/** Makes a function that lists the violations in one part of a request. */
const judgeOf = (part: Part, decoderOf: typeof Issues.decoder) => {
  const decode = decoderOf(
    Option.match(part, { onNone: () => Schema.Unknown, onSome: ({ ast }) => Schema.make(ast) }),
  )
  return (value: unknown) => Option.getOrElse(Either.getLeft(decode(value)), () => [])
}

/**
 * Returns the decoded JSON of the body. Fails with a 400 for another content type or invalid JSON,
 * and with a 413 for a body that is too long. A client that hangs up or sends twice the limit
 * interrupts the fiber, and its connection is closed.
 */
const json = (
  request: HttpServerRequest.HttpServerRequest,
): Effect.Effect<unknown, InvalidRequest | PayloadTooLarge> => {
  const { "content-length": length, "content-type": contentType } = request.headers
  if (!isJson(contentType)) return invalid(Issues.invalidContentType)
  return Number(length) > maxBodyBytes ? tooLarge : Effect.flatMap(bytesOf(request), parse)
}

/** True when the request has no body or an empty one. */
const isAbsent = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0

export const isJson = (contentType = "") => /^\s*application\/json\s*(;|$)/i.test(contentType)

const bytesOf = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.tryPromise(async () => {
    const source = NodeHttpServerRequest.toIncomingMessage(request)
    const chunks: Array<Uint8Array> = []
    let length = 0
    for await (const chunk of source) {
      length += chunk.length
      if (length <= maxBodyBytes) chunks.push(chunk)
      // Leaving the loop would not close the connection.
      else if (length > 2 * maxBodyBytes) source.destroy()
    }
    return length > maxBodyBytes ? undefined : Buffer.concat(chunks)
  }).pipe(Effect.catchAll(() => Effect.interrupt))

const parse = (bytes: Buffer | undefined) =>
  Effect.gen(function* () {
    if (bytes === undefined) return yield* tooLarge
    const text = yield* tryOr("The body is not UTF-8", () => utf8.decode(bytes))
    return Issues.shortened(
      yield* tryOr("The body is not valid JSON", (): unknown => JSON.parse(text)),
    )
  })

/** Ignores a byte order mark. Throws when the bytes are not UTF-8. */
const utf8 = new TextDecoder("utf-8", { fatal: true })

const tryOr = <A>(reason: string, f: () => A) =>
  Effect.try({ try: f, catch: () => InvalidRequest.because([Issues.invalidJson(reason)]) })

const invalid = (issue: Issues.Issue) => Effect.fail(InvalidRequest.because([issue]))

const tooLarge = Effect.fail(new PayloadTooLarge({ message: payloadTooLargeMessage }))
