/** A JSON body, read from the Node request in one piece and never beyond its limit. */
import { isUtf8 } from "node:buffer"
import type { IncomingMessage } from "node:http"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Schema from "effect/Schema"
import * as Fiberless from "../Fiberless.ts"
import * as Guard from "../Guard.ts"
import { InvalidRequest, PayloadTooLarge } from "./Envelope.ts"
import * as Issues from "./Issues.ts"
import { Request } from "./Request.ts"

/** The longest valid request: 50 URLs of 1,000 code units, each escaped to 6 bytes, is 300 kB. */
export const maxBytes = 512 * 1024

/** How much of a refused body is read and thrown away, so that its sender gets to the answer. */
const maxDrainedBytes = 16 * 1024 * 1024

/** Decodes the body, at once where it is all there; fails with every violation together. */
export const decoder = <A>(schema: Schema.Schema<A>) => {
  const decode = Guard.decoder(schema, { errors: "all" })
  const decodeBytes = (bytes: Buffer): Effect.Effect<A, InvalidRequest | PayloadTooLarge> =>
    bytes.length > maxBytes
      ? Effect.fail(tooLarge())
      : Fiberless.flatMap(parse(bytes), (json) =>
          Either.match(decode(json), {
            onLeft: (issue) => Effect.fail(InvalidRequest.because(Issues.fromParseIssue(issue))),
            onRight: Effect.succeed,
          }),
        )
  return (request: IncomingMessage): Effect.Effect<A, InvalidRequest | PayloadTooLarge> => {
    if (!isJson(request.headers["content-type"])) {
      return Effect.fail(InvalidRequest.because([Issues.invalidContentType]))
    }
    const bytes = request instanceof Request ? request.body : undefined
    return bytes === undefined ? Effect.flatMap(read(request), decodeBytes) : decodeBytes(bytes)
  }
}

const isJson = (contentType: string | undefined) =>
  contentType !== undefined && /^\s*application\/json\s*(;|$)/i.test(contentType)

const parse = (bytes: Buffer): Effect.Effect<unknown, InvalidRequest> => {
  if (!isUtf8(bytes)) return notJson("The body is not UTF-8")
  try {
    return Effect.succeed(JSON.parse(bytes.toString()))
  } catch {
    return notJson("The body is not valid JSON")
  }
}

const notJson = (problem: string) =>
  Effect.fail(InvalidRequest.because([Issues.invalidJson(problem)]))

const tooLarge = () =>
  new PayloadTooLarge({ message: `The body exceeds the limit of ${maxBytes} bytes.` })

const read = (message: IncomingMessage): Effect.Effect<Buffer, PayloadTooLarge> =>
  Effect.async((resume) => {
    if (Number(message.headers["content-length"]) > maxBytes) {
      drain(message)
      return resume(Effect.fail(tooLarge()))
    }
    const chunks: Array<Buffer> = []
    let length = 0
    const onData = (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBytes) {
        stop()
        drain(message)
        resume(Effect.fail(tooLarge()))
      } else {
        chunks.push(chunk)
      }
    }
    const onEnd = () => {
      const [only = Buffer.alloc(0)] = chunks
      resume(Effect.succeed(chunks.length > 1 ? Buffer.concat(chunks) : only))
    }
    // The sender is gone, and with it whoever waits for the answer.
    const onError = () => {
      stop()
      resume(Effect.interrupt)
    }
    const stop = () => {
      message.off("data", onData).off("end", onEnd).off("error", onError)
    }
    message.on("data", onData).on("end", onEnd).on("error", onError)
    return Effect.sync(stop)
  })

/** Cutting the connection at once would often destroy the answer before its reader sees it. */
const drain = (message: IncomingMessage) => {
  let drained = 0
  message.on("data", (chunk: Buffer) => {
    drained += chunk.length
    if (drained > maxDrainedBytes) message.destroy()
  })
  message.on("error", () => {})
}
