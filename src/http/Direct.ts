/**
 * The short way of a request: straight from Node to its handler, in a fiber only where it needs one.
 * The requests that are plainly an endpoint's, as all but a few are, take it.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { nextTick } from "node:process"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import * as Fiberless from "../Fiberless.ts"
import type { RequestId } from "../RequestId.ts"
import { type Answer, failure, type Handler, internalErrorMessage } from "./Answer.ts"
import { newRequestId } from "./CurrentRequest.ts"
import type * as Meters from "./Meters.ts"

export interface Endpoint {
  readonly handler: Handler
  readonly start: ReturnType<typeof Meters.make>
}

/** A page in a browser asks, which is for CORS to allow or not; this way knows nothing of it. */
export const needsCors = (corsOrigins: ReadonlyArray<string>, { headers }: IncomingMessage) =>
  corsOrigins.length > 0 && "origin" in headers

/** Writes an answer, unless the response is over. */
export const send = (
  response: ServerResponse,
  requestId: RequestId,
  { body, headers, isAscii = false, status }: Answer,
) => {
  if (response.writableEnded) return
  const length = isAscii ? body.length : Buffer.byteLength(body)
  response.writeHead(status, {
    ...headers,
    "content-type": "application/json",
    "content-length": length,
    "x-request-id": requestId,
  })
  // Head and body leave in one piece, for the body is a string; plain ASCII, as nearly all are, needs
  // no encoding.
  response.end(body, length === body.length ? "latin1" : "utf8")
}

/** Runs a handler for a request, and answers. */
export const make = Effect.map(Effect.runtime(), (runtime) => {
  const runFork = Runtime.runFork(runtime)
  return ({ handler, start }: Endpoint, request: IncomingMessage, response: ServerResponse) => {
    const requestId = newRequestId()
    const stop = start()
    const give = (answer: Answer) => {
      stop(answer.status)
      send(response, requestId, answer)
    }
    /** Never throws, for whoever calls back has others to call. */
    const end = (exit: Exit.Exit<Answer>) => {
      try {
        if (Exit.isSuccess(exit)) give(exit.value)
        else runFork(Effect.map(broken(requestId)(exit.cause), give))
      } catch (defect) {
        response.destroy()
        runFork(broken(requestId)(Cause.die(defect)))
      }
    }
    const fork: Fiberless.Fork<never> = (effect, callback) => {
      const fiber = runFork(effect)
      fiber.addObserver(callback)
      response.on("close", () => {
        // The client hung up.
        if (!response.writableEnded) fiber.unsafeInterruptAsFork(FiberId.none)
      })
    }
    const begin = () =>
      Fiberless.run(
        Fiberless.suspend(() => handler(request, requestId)),
        end,
        fork,
      )
    // In the next tick a body that came along with its headers is there, and not waited for.
    if (request.method === "GET") begin()
    else nextTick(begin)
  }
})

/** What is left to say when a handler broke. */
export const broken =
  (requestId: RequestId) =>
  (cause: Cause.Cause<unknown>): Effect.Effect<Answer> =>
    // The client hung up: nobody is left to answer.
    Cause.isInterruptedOnly(cause)
      ? Effect.interrupt
      : Effect.logError("The request broke.", cause).pipe(
          Effect.annotateLogs("requestId", requestId),
          Effect.as(failure(500, internalErrorMessage)),
        )
