/** The contract served over HTTP: what stands around the handlers on every request. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { v7 as uuid } from "uuid"
import { RequestId } from "../LedgerEntry.ts"
import { Api } from "./Api.ts"
import * as Authorization from "./Authorization.ts"
import { CurrentRequestId } from "./CurrentRequest.ts"
import { failure, internalErrorMessage } from "./Envelope.ts"
import * as handlers from "./handlers.ts"
import * as Meters from "./Meters.ts"
import * as NodeServer from "./NodeServer.ts"
import type * as RateLimit from "./RateLimit.ts"
import * as operations from "./operations.ts"

export interface Options extends NodeServer.Options {
  /** How long requests in flight may take once the server is told to stop. */
  readonly shutdownTimeout: Duration.DurationInput
  /** Origins whose pages may call the interface from a browser; `*` is every origin. */
  readonly corsOrigins: ReadonlyArray<string>
  /** Whether requests are traced; without a listener that would only cost. */
  readonly isTraced: boolean
  /** Of one account; undefined for none. */
  readonly rateLimit: RateLimit.Limit | undefined
}

/** Listens once it is built; on release it stops accepting and answers what is in flight. */
export const layer = (options: Options) =>
  NodeServer.drain(options.shutdownTimeout).pipe(
    Layer.provideMerge(served(routes(options))),
    Layer.provideMerge(NodeServer.layer(options)),
    HttpMiddleware.withTracerDisabledWhen(({ url }) => !options.isTraced || isForMachines(url)),
  )

/** As `HttpLayerRouter.serve`, which lets nobody answer for errors that no route declares. */
const served = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  Effect.map(HttpLayerRouter.HttpRouter, (router) =>
    HttpServer.serve(surround(router.asHttpEffect())),
  ).pipe(Layer.unwrapEffect, Layer.provide(routes), Layer.provide(HttpLayerRouter.layer))

const routes = (options: Options) =>
  Layer.mergeAll(
    api(options),
    openApi,
    operations.routes,
    options.corsOrigins.length === 0 ? Layer.empty : cors(options.corsOrigins),
  )

const cors = (allowedOrigins: ReadonlyArray<string>) =>
  HttpLayerRouter.cors({
    allowedOrigins,
    allowedMethods: ["GET", "POST"],
    allowedHeaders: ["content-type", "x-api-key", "idempotency-key"],
    exposedHeaders: ["x-request-id", "idempotent-replayed", "retry-after", "ratelimit"],
    maxAge: 3600,
  })

const isForMachines = (url: string) => operations.paths.some((path) => url.startsWith(path))

const openApiPath = "/openapi.json"

const api = ({ rateLimit }: Options) =>
  HttpLayerRouter.addHttpApi(Api).pipe(
    Layer.provide([handlers.metrics, handlers.quota]),
    Layer.provide(Authorization.layer({ rateLimit })),
  )

const openApi = HttpLayerRouter.add(
  "GET",
  openApiPath,
  Effect.succeed(HttpServerResponse.unsafeJson(OpenApi.fromApi(Api))),
)

/** The methods that each path takes; every path is fixed. */
const methodsOf = (): ReadonlyMap<string, ReadonlyArray<string>> => {
  const methods = new Map<string, Array<string>>(
    [openApiPath, ...operations.paths].map((path) => [path, ["GET"]]),
  )
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      methods.set(endpoint.path, [...(methods.get(endpoint.path) ?? []), endpoint.method])
    },
  })
  return methods
}
const methods = methodsOf()

/** As lenient as the router: about case, doubled slashes and one at the end. */
const normalized = (url: string) =>
  (url.split("?", 1)[0] ?? "")
    .toLowerCase()
    .replaceAll(/\/+/g, "/")
    .replace(/(?<=.)\/$/, "")

/** Names each request, and answers in the envelope where the contract has no answer. */
const surround = <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method, url }) => {
    const requestId = RequestId.make(uuid())
    const route = normalized(url)
    const measure = Meters.start(method, methods.has(route) ? route : "other")
    return app.pipe(
      Effect.catchAllCause(recover),
      Effect.map((response) => {
        measure(response.status)
        return HttpServerResponse.setHeader(response, "x-request-id", requestId)
      }),
      Effect.provideService(CurrentRequestId, requestId),
      Effect.annotateLogs("requestId", requestId),
    )
  })

const recover = (cause: Cause.Cause<unknown>) =>
  Effect.gen(function* () {
    // The client hung up: nobody is left to answer.
    if (Cause.isInterruptedOnly(cause)) return yield* Effect.interrupt
    const defect = Option.getOrUndefined(Cause.dieOption(cause))
    if (HttpServerResponse.isServerResponse(defect)) return defect
    const error = Option.getOrUndefined(Cause.failureOption(cause))
    if (!Predicate.isTagged(error, "RouteNotFound")) {
      yield* Effect.logError("The request broke.", cause)
      return failure(500, internalErrorMessage)
    }
    const { method, url } = yield* HttpServerRequest.HttpServerRequest
    const allowed = methods.get(normalized(url))
    if (allowed === undefined) return failure(404, "There is nothing at this path.")
    const allow = allowed.join(", ")
    return failure(405, `This path takes ${allow}, not ${method}.`, { allow })
  })
