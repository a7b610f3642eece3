/** The contract served over HTTP: what stands around the handlers on every request. */
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
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Runtime from "effect/Runtime"
import type { RequestId } from "../LedgerEntry.ts"
import { Api } from "./Api.ts"
import { CurrentRequestId, newRequestId } from "./CurrentRequest.ts"
import { type Answer, failure, internalErrorMessage } from "./Envelope.ts"
import * as handlers from "./handlers.ts"
import * as Meters from "./Meters.ts"
import * as NodeServer from "./NodeServer.ts"
import type * as RateLimit from "./RateLimit.ts"
import * as operations from "./operations.ts"
import * as pages from "./pages.ts"

export interface Options extends NodeServer.Options, pages.Options {
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
    Layer.provideMerge(served(options)),
    Layer.provideMerge(NodeServer.layer(options)),
    HttpMiddleware.withTracerDisabledWhen(({ url }) => !options.isTraced || !isOfInterest(url)),
  )

/**
 * Two ways to the same handlers. The short one takes the requests that are plainly an endpoint's,
 * as all but a few are, straight from Node to a fiber of its own. The long one is the platform's
 * router, for what needs it: other spellings of a path, CORS, tracing, the rest of the paths.
 */
const served = (options: Options) =>
  Effect.gen(function* () {
    const { server } = yield* NodeServer.Listener
    const router = yield* HttpLayerRouter.HttpRouter
    const endpoints = byRoute(yield* handlers.make(options))
    for (const { handler, method, path } of endpoints.values()) {
      yield* router.add(method, path, routed(handler))
    }
    const long = yield* NodeHttpServer.makeHandler(surround(router.asHttpEffect()))
    const short = yield* shortWay
    const onRequest = (request: IncomingMessage, response: ServerResponse) => {
      const endpoint = endpoints.get(`${request.method} ${request.url}`)
      const isPlain =
        !options.isTraced && (options.corsOrigins.length === 0 || !("origin" in request.headers))
      if (endpoint === undefined || !isPlain) return long(request, response)
      return short(endpoint, request, response)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => server.on("request", onRequest)),
      () => Effect.sync(() => server.off("request", onRequest)),
    )
  }).pipe(Layer.scopedDiscard, Layer.provide(routes(options)), Layer.provide(HttpLayerRouter.layer))

interface Endpoint {
  readonly method: Exclude<HttpMethod, "HEAD">
  readonly path: HttpLayerRouter.PathInput
  readonly handler: handlers.Handler
  readonly start: ReturnType<typeof Meters.make>
}

const byRoute = (byName: Readonly<Record<string, handlers.Handler>>) => {
  const endpoints = new Map<string, Endpoint>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint: { method, name, path } }) => {
      const handler = byName[name]
      if (handler === undefined || method === "HEAD") return
      const start = Meters.make(method, path)
      endpoints.set(`${method} ${path}`, { method, path, handler, start })
    },
  })
  return endpoints
}

const shortWay = Effect.map(Effect.runtime(), (runtime) => {
  const runFork = Runtime.runFork(runtime)
  return ({ handler, start }: Endpoint, request: IncomingMessage, response: ServerResponse) => {
    const requestId = newRequestId()
    const stop = start()
    const answered = Effect.catchAllCause(handler(request, requestId), broken(requestId))
    const fiber = runFork(
      Effect.map(answered, ({ body, headers, status }) => {
        stop(status)
        if (response.writableEnded) return
        const length = Buffer.byteLength(body)
        response.writeHead(status, {
          ...headers,
          "content-type": "application/json",
          "content-length": length,
          "x-request-id": requestId,
        })
        // Head and body leave in one piece, for the body is a string; plain ASCII, as nearly all
        // are, needs no encoding.
        response.end(body, length === body.length ? "latin1" : "utf8")
      }),
    )
    response.on("close", () => {
      // The client hung up.
      if (!response.writableEnded) fiber.unsafeInterruptAsFork(FiberId.none)
    })
  }
})

/** A handler as the platform's router takes it. */
const routed = (handler: handlers.Handler) => (request: HttpServerRequest.HttpServerRequest) =>
  Effect.flatMap(CurrentRequestId, (requestId) =>
    Effect.map(handler(NodeHttpServerRequest.toIncomingMessage(request), requestId), responseOf),
  )

const responseOf = ({ body, headers, status }: Answer) =>
  HttpServerResponse.text(body, { status, headers, contentType: "application/json" })

const routes = (options: Options) =>
  Layer.mergeAll(
    openApi,
    operations.routes,
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

/** A trace tells the address, and who gets it wrong may have put a key there. */
const isOfInterest = (url: string) =>
  methods.has(url) && !operations.paths.some((path) => path === url)

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
    [openApiPath, ...operations.paths, ...pages.paths].map((path) => [path, ["GET"]]),
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
            : broken(requestId)(cause),
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

const broken =
  (requestId: RequestId) =>
  (cause: Cause.Cause<unknown>): Effect.Effect<Answer> =>
    // The client hung up: nobody is left to answer.
    Cause.isInterruptedOnly(cause)
      ? Effect.interrupt
      : Effect.logError("The request broke.", cause).pipe(
          Effect.annotateLogs("requestId", requestId),
          Effect.as(failure(500, internalErrorMessage)),
        )

const nowhere = (method: string, route: string): Answer => {
  const allowed = methods.get(route)
  if (allowed === undefined) return failure(404, "There is nothing at this path.")
  const allow = allowed.join(", ")
  return failure(405, `This path takes ${allow}, not ${method}.`, { allow })
}
