/** Reads and decodes the body of a request. Never buffers more than the contract's limit. */
import { isUtf8 } from "node:buffer"
import type { IncomingMessage } from "node:http"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import { InvalidRequest, PayloadTooLarge, payloadTooLargeMessage } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"
import { maxBodyBytes, maxJudgedItems } from "../contract/Limits.ts"
import * as TypeGuard from "../schema/TypeGuard.ts"
import * as JsonReader from "./JsonReader.ts"
import { Request } from "./Request.ts"

/**
 * Decodes a JSON body. Fails with PayloadTooLarge or InvalidRequest. InvalidRequest lists every
 * violation that the decoder finds. In a list, the decoder checks only the length and the first
 * `maxJudgedItems` items.
 */
export const decoder = <A>(schema: Schema.Schema<A>) => {
  const decode = bytesDecoder(schema)
  return (
    request: HttpServerRequest.HttpServerRequest,
  ): Effect.Effect<A, InvalidRequest | PayloadTooLarge> =>
    isJson(request.headers["content-type"])
      ? Effect.flatMap(read(request.source), decode)
      : Effect.fail(InvalidRequest.because([Issues.invalidContentType]))
}

/** Decodes the bytes of a body. Takes at most a few milliseconds, even for a hostile body. */
export const bytesDecoder = <A>(
  schema: Schema.Schema<A>,
): ((bytes: Buffer) => Either.Either<A, InvalidRequest>) => {
  const isValid = TypeGuard.make(schema)
  const readShortened = JsonReader.make(schema, maxJudgedItems)
  const judge = ParseResult.decodeUnknownEither(schema, { errors: "all" })
  const decode = ParseResult.decodeUnknownEither(schema)

  const judged = (text: string): Either.Either<A, InvalidRequest> => {
    const reading = readShortened(text)
    if (reading === undefined) return notJson("The body is not valid JSON")
    const { isWhole, value } = reading
    if (isWhole && isValid(value)) return Either.right(value)
    const decoded = judge(value)
    return Either.mapLeft(
      isWhole || Either.isLeft(decoded) ? decoded : decode(JSON.parse(text)),
      (issue) => InvalidRequest.because(Issues.fromParseIssue(issue)),
    )
  }

  return (bytes) => {
    const plain = bytes.length > maxPlainBytes ? undefined : parse(bytes)
    if (isValid(plain)) return Either.right(plain)
    return isUtf8(bytes) ? judged(bytes.toString()) : notJson("The body is not UTF-8")
  }
}

/**
 * The longest body that is parsed with `JSON.parse`, in bytes. For a longer body, `JSON.parse` can
 * block the process for up to 100 ms.
 */
export const maxPlainBytes = 64 * 1024

/** True for the content type `application/json`, with or without parameters. */
export const isJson = (contentType: string | undefined) =>
  contentType !== undefined && /^\s*application\/json\s*(;|$)/i.test(contentType)

/** Parses a JSON text in UTF-8. Returns undefined for anything else. */
export const parse = (bytes: Buffer): unknown => {
  if (!isUtf8(bytes)) return undefined
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

const notJson = (problem: string) =>
  Either.left(InvalidRequest.because([Issues.invalidJson(problem)]))

const tooLarge = () => new PayloadTooLarge({ message: payloadTooLargeMessage })

/**
 * Reads the whole body. Fails with PayloadTooLarge when the body is larger than `maxBodyBytes`.
 * When the client hangs up, the fiber is interrupted.
 */
export const read = (source: unknown): Effect.Effect<Buffer, PayloadTooLarge> =>
  Effect.suspend(() => {
    if (!(source instanceof Request)) return Effect.die(new Error("not a request of this server"))
    const bytes = source.body
    if (bytes === undefined) return collect(source)
    return bytes.length > maxBodyBytes ? Effect.fail(tooLarge()) : Effect.succeed(bytes)
  })

const collect = (request: IncomingMessage): Effect.Effect<Buffer, PayloadTooLarge> =>
  Effect.async((resume) => {
    if (Number(request.headers["content-length"]) > maxBodyBytes) {
      return resume(Effect.fail(tooLarge()))
    }
    const chunks: Array<Buffer> = []
    let length = 0
    const onData = (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBodyBytes) {
        stop()
        request.pause()
        resume(Effect.fail(tooLarge()))
      } else {
        chunks.push(chunk)
      }
    }
    const onEnd = () => {
      const [only = Buffer.alloc(0)] = chunks
      resume(Effect.succeed(chunks.length > 1 ? Buffer.concat(chunks) : only))
    }
    // The client hung up, so no answer is needed.
    const onError = () => {
      stop()
      resume(Effect.interrupt)
    }
    const stop = () => {
      request.off("data", onData).off("end", onEnd).off("error", onError)
    }
    request.on("data", onData).on("end", onEnd).on("error", onError)
    return Effect.sync(stop)
  })
