/**
 * The whole interface: the endpoints of the contract, and the platform's router for what is not
 * plainly one of them: other spellings of a path, CORS, tracing, the rest of the paths.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import type { HttpMethod } from "@effect/platform/HttpMethod"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { type Answer, failure, type Handler } from "./Answer.ts"
import { Api } from "./Api.ts"
import { CurrentRequestId, newRequestId } from "./CurrentRequest.ts"
import * as Direct from "./Direct.ts"
import * as handlers from "./handlers.ts"
import * as Meters from "./Meters.ts"
import * as operations from "./operations.ts"
import * as pages from "./pages.ts"
import * as Prometheus from "./Prometheus.ts"
import type * as RateLimit from "./RateLimit.ts"

export interface Options extends pages.Options {
  /** Origins whose pages may call the interface from a browser; `*` is every origin. */
  readonly corsOrigins: ReadonlyArray<string>
  /** Whether requests are traced; without a listener that would only cost. */
  readonly isTraced: boolean
  /** Of one account; undefined for none. */
  readonly rateLimit: RateLimit.Limit | undefined
}

/** Answers any request. */
export type Router = (request: IncomingMessage, response: ServerResponse) => void

export const make = (options: Options) =>
  Effect.gen(function* () {
    const router = yield* HttpLayerRouter.HttpRouter
    const endpoints = byRoute(yield* handlers.make(options))
    for (const byMethod of endpoints.values()) {
      for (const { handler, method, path } of byMethod.values()) {
        yield* router.add(method, path, routed(handler))
      }
    }
    const long = yield* NodeHttpServer.makeHandler(surround(router.asHttpEffect()))
    const short = yield* Direct.make
    const answer: Router = (request, response) => {
      const endpoint = endpoints.get(request.url ?? "")?.get(request.method ?? "")
      const isPlain = !options.isTraced && !Direct.needsCors(options.corsOrigins, request)
      if (endpoint === undefined || !isPlain) return long(request, response)
      return short(endpoint, request, response)
    }
    return answer
  }).pipe(
    HttpMiddleware.withTracerDisabledWhenEffect(
      ({ url }) => !options.isTraced || !isOfInterest(url),
    ),
    (answer) =>
      Effect.flatMap(
        Layer.build(Layer.provideMerge(routes(options), HttpLayerRouter.layer)),
        (context) => Effect.provide(answer, context),
      ),
  )

interface Endpoint extends Direct.Endpoint {
  readonly method: Exclude<HttpMethod, "HEAD">
  readonly path: HttpLayerRouter.PathInput
}

/** By path and method, in two maps: a key made of both would have to be put together for each request. */
const byRoute = (byName: Readonly<Record<string, Handler>>) => {
  const endpoints = new Map<string, Map<string, Endpoint>>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint: { method, name, path } }) => {
      const handler = byName[name]
      if (handler === undefined || method === "HEAD") return
      const start = Meters.make(method, path)
      const byMethod = endpoints.get(path) ?? new Map<string, Endpoint>()
      endpoints.set(path, byMethod.set(method, { method, path, handler, start }))
    },
  })
  return endpoints
}

/** A handler as the platform's router takes it. */
const routed = (handler: Handler) => (request: HttpServerRequest.HttpServerRequest) =>
  Effect.flatMap(CurrentRequestId, (requestId) =>
    Effect.map(handler(NodeHttpServerRequest.toIncomingMessage(request), requestId), responseOf),
  )

const responseOf = ({ body, headers, status }: Answer) =>
  HttpServerResponse.text(body, { status, headers, contentType: "application/json" })

const routes = (options: Options) =>
  Layer.mergeAll(
    openApi,
    operationRoutes,
    metrics,
    pages.routes(options),
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

/** The answers of the operations, in the router's terms. */
const operationRoutes = HttpLayerRouter.use((router) =>
  Effect.flatMap(operations.make, (handlers) =>
    Effect.forEach(operations.paths, (path) => router.add("GET", path, routed(handlers[path]))),
  ),
)

const metricsPath = "/metrics"

const metrics = HttpLayerRouter.use((router) =>
  Effect.flatMap(Prometheus.make, (text) =>
    router.add(
      "GET",
      metricsPath,
      Effect.sync(() => HttpServerResponse.text(text(), { contentType: Prometheus.contentType })),
    ),
  ),
)

/** A trace tells the address, and who gets it wrong may have put a key there. */
const isOfInterest = (url: string) =>
  methods.has(url) && ![metricsPath, ...operations.paths].includes(url)

const openApiPath = "/openapi.json"

/** Made when it is first asked for: no start waits for it. */
const openApi = Layer.unwrapEffect(
  Effect.map(
    Effect.cached(Effect.sync(() => HttpServerResponse.unsafeJson(OpenApi.fromApi(Api)))),
    (document) => HttpLayerRouter.add("GET", openApiPath, document),
  ),
)

/** The methods that each path takes; every path is fixed. */
const methodsOf = (): ReadonlyMap<string, ReadonlyArray<string>> => {
  const methods = new Map<string, Array<string>>(
    [openApiPath, metricsPath, ...operations.paths, ...pages.paths].map((path) => [path, ["GET"]]),
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
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const { method, url } = request
    const requestId = newRequestId()
    const route = normalized(url)
    const stop = Meters.make(method, methods.has(route) ? route : "other")()
    return app.pipe(
      Effect.catchAllCause((cause) => {
        const error = Option.getOrUndefined(Cause.failureOption(cause))
        return Effect.map(
          Predicate.isTagged(error, "RouteNotFound")
            ? Effect.succeed(nowhere(method, route))
            : Direct.broken(requestId)(cause),
          responseOf,
        )
      }),
      Effect.map((response) => {
        stop(response.status)
        return HttpServerResponse.setHeader(response, "x-request-id", requestId)
      }),
      Effect.provideService(CurrentRequestId, requestId),
    )
  })

const nowhere = (method: string, route: string): Answer => {
  const allowed = methods.get(route)
  if (allowed === undefined) return failure(404, "There is nothing at this path.")
  const allow = allowed.join(", ")
  return failure(405, `This path takes ${allow}, not ${method}.`, { allow })
}
