/**
 * Runs the router for each Node request in its own fiber, and writes the answer when the fiber
 * ends. The framework's own runner also waits until the socket has sent the answer, which costs
 * more.
 */
import type { ServerResponse } from "node:http"
import * as HttpApp from "@effect/platform/HttpApp"
import { isHttpMethod } from "@effect/platform/HttpMethod"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { internalErrorMessage } from "../contract/Envelope.ts"
import { Deadline } from "../Deadline.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import { CurrentRequest, newRequestId } from "./CurrentRequest.ts"
import * as Meters from "../telemetry/HttpMeters.ts"
import type { Request } from "./Request.ts"
import * as RequestLog from "./RequestLog.ts"
import type { Routes } from "./Routes.ts"
import { ServerRequest } from "./ServerRequest.ts"
import type * as ServerSpan from "./ServerSpan.ts"

export interface Runner {
  /**
   * Answers one Node request. When `refusal` is given, sends `refusal` and does not call the
   * router.
   */
  readonly run: (
    request: Request,
    response: ServerResponse,
    refusal?: HttpServerResponse.HttpServerResponse,
  ) => void
  /** The number of requests in flight, including those whose client has hung up. */
  readonly running: () => number
}

export interface Options {
  /**
   * The origins that get CORS headers. When the list is not empty, answers differ by origin, so
   * every answer has `Vary: Origin`.
   */
  readonly corsOrigins: ReadonlyArray<string>
  /** The maximum duration of a request. */
  readonly requestTimeout: Duration.DurationInput
}

export const make = (
  router: HttpApp.Default<unknown, Scope.Scope>,
  routes: Routes,
  startSpan: ServerSpan.Start,
  { corsOrigins, requestTimeout }: Options,
): Effect.Effect<Runner> =>
  Effect.gen(function* () {
    const timeoutMs = Duration.toMillis(requestTimeout)
    const clock = yield* Effect.clock
    const runtime = yield* Effect.runtime()
    const log = yield* RequestLog.make
    const scope = yield* noScope
    const app = Effect.flatMap(
      Effect.catchAllCause(router, (cause) => answerFailure(cause, routes)),
      completed,
    )

    const vary = corsOrigins.length > 0 ? "Origin" : undefined
    let running = 0

    const run: Runner["run"] = (request, response, refusal) => {
      const { method = "", url = "" } = request
      const current = { id: newRequestId() }
      const route = routes.of(url)
      const stop = Meters.start(method, route?.path ?? "other")
      const finish = log(route?.endpoint, current)
      const span = startSpan(request)
      const answer = ({ body, headers, status }: HttpServerResponse.HttpServerResponse) => {
        // The client hung up.
        if (response.destroyed) return
        stop(status)
        finish(status)
        const all: Record<string, string> = { ...headers, "x-request-id": current.id }
        if (isVersioned(url)) all["cache-control"] = "no-store"
        if (vary !== undefined) all["vary"] = mergeNames(headers["vary"], vary)
        span.end(status, all)
        response.writeHead(status, all)
        if (method === "HEAD") response.end()
        // A `Raw` body is a string. Node sends a string together with the headers, in one write.
        else if (body._tag === "Uint8Array" || body._tag === "Raw") response.end(body.body)
        else response.end()
      }
      if (refusal !== undefined) return answer(refusal)
      if (!isHttpMethod(method)) return answer(noRoute(method, url, routes))
      const services = new Map<string, unknown>([
        [HttpServerRequest.HttpServerRequest.key, new ServerRequest(request, method)],
        [CurrentRequest.key, current],
        // Sets the Deadline that the use case, the providers and the ledger read.
        [Deadline.key, MonotonicClock.unsafeNow(clock) + timeoutMs],
        [Scope.Scope.key, scope],
      ])
      if (span.parent !== undefined) services.set(Tracer.ParentSpan.key, span.parent)
      const context = Context.unsafeMake<HttpServerRequest.HttpServerRequest | Scope.Scope>(
        services,
      )
      running++
      const fiber = Runtime.runFork(Runtime.make({ ...runtime, context }))(app)
      fiber.addObserver((exit) => {
        running--
        if (Exit.isSuccess(exit)) answer(exit.value)
      })
      response.on("close", () => {
        // The client hung up.
        if (!response.writableEnded) fiber.unsafeInterruptAsFork(FiberId.none)
      })
    }
    return { run, running: () => running }
  })

/**
 * True for a URL under `/v1`. No cache may store the answers to requests for these URLs. Ignores
 * case and extra slashes, as the router does.
 */
const isVersioned = (url: string) => /^\/+v1(?:[/?]|$)/i.test(url)

/** Merges two header values that list names. Names are compared without case. */
const mergeNames = (list: string | undefined, more: string) => {
  const names = [...(list?.split(/\s*,\s*/) ?? []), ...more.split(/\s*,\s*/)]
  const byName = new Map(names.map((name) => [name.toLowerCase(), name]))
  return [...byName.values()].join(", ")
}

/**
 * One scope for all requests. A scope per request would cost a sixth of the request's time, and no
 * handler acquires a resource.
 */
const noScope = Effect.map(Scope.make(), (scope) => ({
  ...scope,
  addFinalizer: () =>
    Effect.dieMessage("A handler that acquires a scoped resource must use Effect.scoped."),
}))

/**
 * Runs the handlers that middleware registered for this answer, for example to add the CORS
 * headers.
 */
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

/**
 * Adds the header names in `vary` back to the response's header `Vary`, because the CORS middleware
 * overwrites this header.
 */
const restoreVary = (response: HttpServerResponse.HttpServerResponse, vary: string | undefined) =>
  vary === undefined
    ? response
    : HttpServerResponse.setHeader(response, "vary", mergeNames(response.headers["vary"], vary))

/**
 * Answers 404 or 405 when no route matches, and 500 on a defect. The contract's errors do not reach
 * this function, because the routes encode them.
 */
const answerFailure = (cause: Cause.Cause<unknown>, routes: Routes) => {
  // The client hung up.
  if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
  if (Predicate.isTagged(Option.getOrUndefined(Cause.failureOption(cause)), "RouteNotFound")) {
    return Effect.map(HttpServerRequest.HttpServerRequest, ({ method, url }) =>
      noRoute(method, url, routes),
    )
  }
  return Effect.flatMap(CurrentRequest, ({ id }) =>
    Effect.as(RequestLog.logFailure(cause, id), failure(500, internalErrorMessage)),
  )
}

const noRoute = (method: string, url: string, routes: Routes) => {
  const route = routes.of(url)
  if (route === undefined) return failure(404, "There is nothing at this path.")
  const allow = route.methods.join(", ")
  return HttpServerResponse.setHeader(
    failure(405, `This path takes ${allow}, not ${method}.`),
    "allow",
    allow,
  )
}

/** Makes an error answer whose body has the form of all error bodies: `success` and `message`. */
const failure = (status: number, message: string) =>
  HttpServerResponse.unsafeJson({ success: false, message }, { status })
