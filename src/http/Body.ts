/** Reads the JSON body of a request, never more than the contract's limit. */
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Effect from "effect/Effect"
import { InvalidRequest, PayloadTooLarge, payloadTooLargeMessage } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"
import { maxBodyBytes } from "../contract/Limits.ts"

/**
 * Returns the value of the body. Fails with the 400 of another content type or of invalid JSON, and
 * with 413. A client that hangs up, or sends chunks of twice the limit, interrupts the fiber: its
 * connection is closed then.
 */
export const json = (
  request: HttpServerRequest,
): Effect.Effect<unknown, InvalidRequest | PayloadTooLarge> => {
  const { "content-length": length, "content-type": contentType } = request.headers
  if (!isJson(contentType)) return invalid(Issues.invalidContentType)
  return Number(length) > maxBodyBytes ? tooLarge : Effect.flatMap(bytesOf(request), parse)
}

/** True when the request has no body. An empty one counts. */
export const isAbsent = ({ headers }: HttpServerRequest) =>
  headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0

/** True for the content type of JSON, with or without parameters. */
export const isJson = (contentType = "") => /^\s*application\/json\s*(;|$)/i.test(contentType)

const bytesOf = (request: HttpServerRequest) =>
  Effect.tryPromise(async () => {
    const source = NodeHttpServerRequest.toIncomingMessage(request)
    const chunks: Array<Uint8Array> = []
    let length = 0
    for await (const chunk of source) {
      length += chunk.length
      if (length <= maxBodyBytes) chunks.push(chunk)
      // To leave the loop would not close the connection.
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
