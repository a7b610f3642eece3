/**
 * Runs the router for each request of Node, in one fiber each. The framework's own runner waits until
 * the socket has taken the answer, which costs more than the rest of a request.
 */
import type { ServerResponse } from "node:http"
import * as HttpApp from "@effect/platform/HttpApp"
import { isHttpMethod } from "@effect/platform/HttpMethod"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { internalErrorMessage } from "../contract/Envelope.ts"
import { CurrentRequest, newRequestId } from "./CurrentRequest.ts"
import * as Meters from "./Meters.ts"
import type { Request } from "./Request.ts"
import * as RequestLog from "./RequestLog.ts"
import type { Routes } from "./Routes.ts"
import { ServerRequest } from "./ServerRequest.ts"

/** Answers one request of Node. */
export type Runner = (request: Request, response: ServerResponse) => void

export const make = (
  router: HttpApp.Default<unknown, Scope.Scope>,
  routes: Routes,
): Effect.Effect<Runner> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime()
    const log = yield* RequestLog.make

    const app = HttpApp.toHandled(
      Effect.catchAllCause(router, (cause) => withoutAnswer(cause, routes)),
      (request, answer) =>
        Effect.sync(() => {
          if (request instanceof ServerRequest) request.answer(answer)
        }),
    )

    return (request, response) => {
      const { method = "", url = "" } = request
      const current = { id: newRequestId() }
      const route = routes.of(url)
      const stop = Meters.start(method, route?.path ?? "other")
      const finish = log(route?.endpoint, current)
      const answer = (answer: HttpServerResponse.HttpServerResponse) => {
        // The client hung up.
        if (response.destroyed || response.writableEnded) return
        stop(answer.status)
        finish(answer.status)
        write(response, method, answer, current.id)
      }
      if (!isHttpMethod(method)) return answer(nowhere(method, url, routes))
      const context = Context.unsafeMake<HttpServerRequest.HttpServerRequest>(
        new Map<string, unknown>([
          [HttpServerRequest.HttpServerRequest.key, new ServerRequest(request, method, answer)],
          [CurrentRequest.key, current],
        ]),
      )
      const fiber = Runtime.runFork(Runtime.make({ ...runtime, context }))(app)
      response.on("close", () => {
        // The client hung up.
        if (!response.writableEnded) fiber.unsafeInterruptAsFork(FiberId.none)
      })
    }
  })

/** For what no route answers, and for defects. The contract's errors are encoded by its routes. */
const withoutAnswer = (cause: Cause.Cause<unknown>, routes: Routes) => {
  // The client hung up.
  if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
  if (Predicate.isTagged(Option.getOrUndefined(Cause.failureOption(cause)), "RouteNotFound")) {
    return Effect.map(HttpServerRequest.HttpServerRequest, ({ method, url }) =>
      nowhere(method, url, routes),
    )
  }
  return Effect.flatMap(CurrentRequest, ({ id }) =>
    Effect.logError("The request failed.", cause).pipe(
      Effect.annotateLogs("requestId", id),
      Effect.as(failure(500, internalErrorMessage)),
    ),
  )
}

const nowhere = (method: string, url: string, routes: Routes) => {
  const route = routes.of(url)
  if (route === undefined) return failure(404, "There is nothing at this path.")
  const allow = route.methods.join(", ")
  return HttpServerResponse.setHeader(
    failure(405, `This path takes ${allow}, not ${method}.`),
    "allow",
    allow,
  )
}

/** An error that the contract does not declare, in its envelope. */
const failure = (status: number, message: string) =>
  HttpServerResponse.unsafeJson({ success: false, message }, { status })

const write = (
  response: ServerResponse,
  method: string,
  { body, headers, status }: HttpServerResponse.HttpServerResponse,
  requestId: string,
) => {
  response.writeHead(status, { ...headers, "x-request-id": requestId })
  if (method === "HEAD") response.end()
  else if (body._tag === "Uint8Array") response.end(body.body)
  // Head and body leave in one piece where the body is a string.
  else if (body._tag === "Raw") response.end(body.body)
  else response.end()
}
