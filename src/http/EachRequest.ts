/**
 * What happens around the handler of each request: its id and deadline, the check of its headers,
 * its log line and metrics, and the answers that no handler gives. A request that was completely
 * read continues even if its client disconnects.
 */
import { randomFillSync } from "node:crypto"
import * as HttpApp from "@effect/platform/HttpApp"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import { RouteNotFound } from "@effect/platform/HttpServerError"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as FiberSet from "effect/FiberSet"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { v7 as uuid } from "uuid"
import { internalErrorMessage } from "../contract/Envelope.ts"
import * as Wire from "../contract/Wire.ts"
import { Deadline } from "../check/Deadline.ts"
import { RequestId } from "../check/RequestId.ts"
import * as Meters from "./telemetry/Meters.ts"
import * as MonotonicClock from "../check/MonotonicClock.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { failure } from "./errorAnswer.ts"
import * as HeaderCheck from "./HeaderCheck.ts"
import * as RequestLog from "./telemetry/RequestLog.ts"
import type { Path } from "./Routes.ts"

export interface Options {
  /** The origins whose pages may call the API from a browser. `*` allows every origin. */
  readonly corsOrigins: ReadonlyArray<string>
  readonly requestTimeout: Duration.DurationInput
}

export interface Server {
  readonly pathOf: (url: string) => Path | undefined
  readonly isDraining: () => boolean
  /** The requests in progress, including those whose client has disconnected. */
  readonly running: FiberSet.FiberSet
}

export const make = (server: Server, options: Options) => {
  const { pathOf, running } = server
  const timeoutMs = Duration.toMillis(options.requestTimeout)
  const withCors = options.corsOrigins.length === 0 ? identity : cors(options.corsOrigins)

  return <E>(app: HttpApp.Default<E, Scope.Scope>): HttpApp.Default =>
    Effect.gen(function* () {
      const request = originForm(yield* HttpServerRequest)
      const source = NodeHttpServerRequest.toIncomingMessage(request)
      const arrived = arrive(request, pathOf(request.url), yield* MonotonicClock.now)
      const given = Context.make(HttpServerRequest, request).pipe(
        Context.add(CurrentRequest, arrived.current),
        Context.add(Deadline, arrived.startedAt + timeoutMs),
      )
      // No page of another origin may call the administration.
      const isClosed = arrived.path?.path.startsWith(Wire.adminPrefix) === true
      const fiber = yield* (HeaderCheck.refusalOf(source) ?? (isClosed ? app : withCors(app))).pipe(
        Effect.catchAllCause(answerFailure(arrived)),
        Effect.flatMap(completed(request, options)),
        Effect.flatMap(finish(arrived, server)),
        Effect.scoped,
        Effect.provide(given),
        Effect.interruptible,
        FiberSet.run(running),
      )
      // Waits for the exit, because joining the fiber would also take over its context.
      const exit = yield* Effect.interruptible(Fiber.await(fiber)).pipe(
        Effect.onInterrupt(() => (source.complete ? Effect.void : Fiber.interruptFork(fiber))),
      )
      return yield* exit
    })
}

export interface Arrived {
  readonly request: Target
  readonly path: Path | undefined
  readonly current: CurrentRequest["Type"]
  readonly startedAt: number
}

type Target = Pick<HttpServerRequest, "method" | "url">

export const arrive = (request: Target, path: Path | undefined, startedAt: number): Arrived => ({
  request,
  path,
  current: { id: RequestId.make(uuid(fromPool), { disableValidation: true }) },
  startedAt,
})

// Random bytes for 256 ids, which take hardly longer to make than those for one id.
const pool = new Uint8Array(16 * 256)
let used = pool.length

const fromPool = {
  rng: () => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += 16
    return pool.subarray(used - 16, used)
  },
}

/** Measures and logs an answer, and adds the headers that every answer has. */
export const finish =
  ({ current, path, request, startedAt }: Arrived, { isDraining }: Server) =>
  (response: HttpServerResponse.HttpServerResponse) =>
    Effect.gen(function* () {
      const durationMs = (yield* MonotonicClock.now) - startedAt
      const { method, url } = request
      Meters.answered(method, path?.path ?? "other", response.status, durationMs / 1000)
      yield* RequestLog.logAnswer(path, method, current, response.status, durationMs)
      return HttpServerResponse.setHeaders(response, {
        "x-request-id": current.id,
        ...(isPrivate(path?.path ?? url) && { "cache-control": "no-store" }),
        ...(isDraining() && { connection: "close" }),
      })
    })

// Rewrites a target in absolute form, such as `http://host/path`, which proxies send.
const originForm = (request: HttpServerRequest) => {
  const { url } = request
  if (url.startsWith("/")) return request
  return request.modify({ url: url.replace(/^https?:\/\/[^/?]*\/?/i, "/") })
}

// Runs the handlers that middleware registered for this answer, such as the one that adds the CORS
// headers. That one overwrites `vary`.
const completed =
  (request: HttpServerRequest, { corsOrigins }: Options) =>
  (response: HttpServerResponse.HttpServerResponse) =>
    Effect.gen(function* () {
      const handler = yield* FiberRef.get(HttpApp.currentPreResponseHandlers)
      const answer = Option.isNone(handler)
        ? response
        : yield* Effect.orDie(handler.value(request, response))
      return corsOrigins.length === 0
        ? answer
        : HttpServerResponse.setHeader(answer, "vary", withOrigin(response.headers["vary"]))
    })

// Answers 404 or 405 when there is no route, and 500 after a defect. Errors of the contract never
// get here, because the routes encode them.
export const answerFailure =
  ({ current, path, request }: Arrived) =>
  (cause: Cause.Cause<unknown>) => {
    if (Option.exists(Cause.failureOption(cause), (error) => error instanceof RouteNotFound)) {
      return Effect.succeed(noRoute(request.method, path))
    }
    return Cause.isInterruptedOnly(cause)
      ? Effect.interrupt
      : Effect.as(RequestLog.logFailure(cause, current.id), failure(500, internalErrorMessage))
  }

const noRoute = (method: string, path: Path | undefined) => {
  if (path === undefined) return failure(404, "There is nothing at this path.")
  const allow = path.methods.join(", ")
  return HttpServerResponse.setHeader(
    failure(405, `This path takes ${allow}, not ${method}.`),
    "allow",
    allow,
  )
}

// Answers to requests for these paths must not be cached.
const isPrivate = (path: string) => /^\/+(?:v1|admin|mcp)(?:[/?]|$)/i.test(path)

const withOrigin = (vary: string | undefined) => (vary === undefined ? "Origin" : `${vary}, Origin`)

const cors = (allowedOrigins: ReadonlyArray<string>) =>
  HttpMiddleware.cors({
    allowedOrigins,
    allowedMethods: ["GET", "POST"],
    allowedHeaders: [
      "content-type",
      "x-api-key",
      "authorization",
      "mcp-protocol-version",
      "mcp-method",
      "mcp-name",
      "idempotency-key",
      "x-max-credits",
      "prefer",
      "cache-control",
    ],
    exposedHeaders: [
      "x-request-id",
      "idempotent-replayed",
      "preference-applied",
      "x-limit",
      "retry-after",
      "ratelimit",
    ],
    maxAge: 3600,
  })
