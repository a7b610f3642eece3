/**
 * Answers batches without the framework, which takes most of the time of a request whose figures
 * are known. It handles only valid requests that arrived complete, and leaves all others to the
 * framework, unread. Without this file, the service gives the same answers.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import { isUtf8 } from "node:buffer"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { AuthorityCheck } from "../check/AuthorityCheck.ts"
import { BatchHeaders, BatchRequest } from "../contract/Api.ts"
import { batchPath } from "../contract/Wire.ts"
import { Deadline } from "../check/Deadline.ts"
import * as TypeGuard from "../database/rows/TypeGuard.ts"
import * as MonotonicClock from "../check/MonotonicClock.ts"
import * as Authorization from "./Authorization.ts"
import { isJson } from "./Decoding.ts"
import * as EachRequest from "./EachRequest.ts"
import { answerTo } from "./errorAnswer.ts"
import * as handlers from "./handlers.ts"
import * as HeaderCheck from "./HeaderCheck.ts"

interface Options extends EachRequest.Options {
  readonly isTraced: boolean
}

/** Makes a function that puts the fast path before another request handler. */
export const make = (server: EachRequest.Server, options: Options) =>
  Effect.gen(function* () {
    const admit = yield* Authorization.admission
    const useCase = yield* AuthorityCheck
    const clock = yield* Effect.clock
    const run = yield* FiberSet.runtime(server.running)()
    const path = server.pathOf(batchPath)
    const timeoutMs = Duration.toMillis(options.requestTimeout)

    const answer = ({ headers, secret, urls }: Asked, arrived: EachRequest.Arrived) =>
      Effect.gen(function* () {
        const key = yield* admit(secret, batchPath, arrived.current)
        return yield* handlers.checkBatch(useCase, { urls, headers, key }, arrived.current)
      }).pipe(
        Effect.catchAll((error) => Effect.succeed(answerTo(error))),
        Effect.catchAllCause(EachRequest.answerFailure(arrived)),
        Effect.flatMap(EachRequest.finish(arrived, server)),
        Effect.scoped,
        Effect.provideService(Deadline, arrived.startedAt + timeoutMs),
      )

    return (otherwise: RequestListener): RequestListener => {
      // Only the framework adds the CORS headers and the spans of traced requests.
      const isOff = path === undefined || options.isTraced || options.corsOrigins.length > 0
      if (isOff) return otherwise
      return (request, response) => {
        if (!isBatch(request)) return otherwise(request, response)
        const startedAt = MonotonicClock.unsafeNow(clock)
        // By the next tick, the parser has read the body if it arrived with the headers.
        process.nextTick(() => {
          const asked = askedBy(request)
          if (asked === undefined) return otherwise(request, response)
          const arrived = EachRequest.arrive({ method: "POST", url: batchPath }, path, startedAt)
          run(
            Effect.matchCause(answer(asked, arrived), {
              onSuccess: (answered) => send(response, answered),
              onFailure: () => response.destroy(),
            }),
          )
        })
      }
    }
  })

interface Asked {
  readonly secret: Redacted.Redacted<string>
  readonly headers: typeof BatchHeaders.Type
  readonly urls: ReadonlyArray<string>
}

const isBatch = (request: IncomingMessage) =>
  request.url === batchPath &&
  request.method === "POST" &&
  isJson(request.headers["content-type"]) &&
  HeaderCheck.refusalOf(request) === undefined

/** Returns undefined, and leaves the body in place, when the framework must answer. */
const askedBy = (request: IncomingMessage): Asked | undefined => {
  const secret = request.headers["x-api-key"]
  const length = Number(request.headers["content-length"])
  // Does not read an empty body, because that would end the stream.
  const isWhole = length > 0 && request.readableLength === length
  const headers = Option.getOrUndefined(decodeHeaders(request.headers))
  if (!isWhole || typeof secret !== "string" || headers === undefined) return undefined
  const bytes: Buffer = request.read()
  const body = jsonOf(bytes)
  if (isValid(body)) return { secret: Redacted.make(secret), headers, urls: body.urls }
  request.unshift(bytes)
  return undefined
}

const decodeHeaders = Schema.decodeUnknownOption(BatchHeaders)

const isValid = TypeGuard.make(BatchRequest)

const jsonOf = (bytes: Buffer): unknown => {
  try {
    return isUtf8(bytes) ? JSON.parse(bytes.toString()) : undefined
  } catch {
    return undefined
  }
}

const send = (response: ServerResponse, answer: HttpServerResponse.HttpServerResponse) => {
  const { body, headers, status } = answer
  if (body._tag !== "Uint8Array") throw new Error("the answer is not JSON")
  response.writeHead(status, {
    ...headers,
    "content-type": body.contentType,
    "content-length": body.contentLength,
  })
  response.end(body.body)
}
