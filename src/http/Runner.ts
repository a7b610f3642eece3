/**
 * Runs the router for each Node request in its own fiber, and writes the answer when the fiber
 * ends. The framework's own runner also waits until the socket has sent the answer, which costs
 * more.
 */
import * as HttpApp from "@effect/platform/HttpApp"
import type { HttpBody } from "@effect/platform/HttpBody"
import { isHttpMethod } from "@effect/platform/HttpMethod"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { internalErrorMessage } from "../contract/Envelope.ts"
import { Deadline } from "../Deadline.ts"
import { type Call, CurrentRequest, mergeNames } from "./Call.ts"
import { failure } from "./errorAnswer.ts"
import * as RequestLog from "./RequestLog.ts"
import * as Router from "./Router.ts"
import * as Routes from "./Routes.ts"
import { ServerRequest } from "./ServerRequest.ts"

export interface Runner {
  /** Answers a call by the router. */
  readonly run: (call: Call) => void
  /** The number of requests in flight, including those whose client has hung up. */
  readonly running: () => number
  /** Interrupts the requests whose client has hung up, and from now on those whose client does. */
  readonly cutOff: () => void
}

export const make = (router: Router.Router): Effect.Effect<Runner> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime()
    const scope = yield* noScope
    let running = 0
    let isCutOff = false
    const left = new Set<Fiber.RuntimeFiber<unknown, unknown>>()

    const run: Runner["run"] = (call) => {
      const { current, request, response, span } = call
      const { method = "", url = "" } = request
      if (!isHttpMethod(method)) return answer(call, Router.noRoute(router.routes, method, url))
      const { app, params, route } = router.find(method, url)
      const services = new Map<string, unknown>([
        [HttpServerRequest.HttpServerRequest.key, new ServerRequest(request, method)],
        [CurrentRequest.key, current],
        // Sets the Deadline that the use case, the providers and the ledger read.
        [Deadline.key, current.deadline],
        [Scope.Scope.key, scope],
        [HttpRouter.RouteContext.key, { route, params }],
        [HttpServerRequest.ParsedSearchParams.key, Routes.queryOf(url)],
      ])
      if (span.parent !== undefined) services.set(Tracer.ParentSpan.key, span.parent)
      const context = Context.unsafeMake<Effect.Effect.Context<typeof app>>(services)
      running++
      const fiber = Runtime.runFork(Runtime.make({ ...runtime, context }))(
        Effect.flatMap(Effect.catchAllCause(app, answerFailure), completed),
      )
      fiber.addObserver((exit) => {
        running--
        left.delete(fiber)
        if (Exit.isSuccess(exit)) answer(call, exit.value)
      })
      response.on("close", () => {
        if (response.writableEnded) return
        // The client hung up. A request that was read goes on to its end, because it may buy figures.
        if (request.complete && !isCutOff) left.add(fiber)
        else fiber.unsafeInterruptAsFork(FiberId.none)
      })
    }
    const cutOff = () => {
      isCutOff = true
      for (const fiber of left) fiber.unsafeInterruptAsFork(FiberId.none)
    }
    return { run, running: () => running, cutOff }
  })

/** Sends a response of the framework. A `Raw` body is a string. */
export const answer = (
  call: Call,
  { body, headers, status }: HttpServerResponse.HttpServerResponse,
) => call.answer(status, headers, textOf(body))

const textOf = (body: HttpBody) => {
  if (body._tag === "Uint8Array") return body.body
  return body._tag === "Raw" && Predicate.isString(body.body) ? body.body : undefined
}

// One scope for all requests. A scope per request would cost a sixth of the request's time, and no
// handler acquires a resource.
const noScope = Effect.map(Scope.make(), (scope) => ({
  ...scope,
  addFinalizer: () =>
    Effect.dieMessage("A handler that acquires a scoped resource must use Effect.scoped."),
}))

// Runs the handlers that middleware registered for this answer, for example to add the CORS
// headers.
const completed = (response: HttpServerResponse.HttpServerResponse) =>
  Effect.withFiberRuntime<
    HttpServerResponse.HttpServerResponse,
    never,
    HttpServerRequest.HttpServerRequest
  >((fiber) => {
    const handler = fiber.getFiberRef(HttpApp.currentPreResponseHandlers)
    return Option.isNone(handler)
      ? Effect.succeed(response)
      : Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
          Effect.map(Effect.orDie(handler.value(request, response)), (completed) =>
            restoreVary(completed, response.headers["vary"]),
          ),
        )
  })

// Adds the header names in `vary` back to the response's header `Vary`, because the CORS middleware
// overwrites this header.
const restoreVary = (response: HttpServerResponse.HttpServerResponse, vary: string | undefined) =>
  vary === undefined
    ? response
    : HttpServerResponse.setHeader(response, "vary", mergeNames(response.headers["vary"], vary))

// Answers 500 on a defect. The contract's errors do not reach this function, because the routes
// encode them.
const answerFailure = (cause: Cause.Cause<unknown>) =>
  Cause.isInterruptedOnly(cause)
    ? Effect.interrupt
    : Effect.flatMap(CurrentRequest, ({ id }) =>
        Effect.as(RequestLog.logFailure(cause, id), failure(500, internalErrorMessage)),
      )
