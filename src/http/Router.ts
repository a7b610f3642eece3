/** Collects all routes of the service, and finds the route of a request. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import { makeRoute, type Route, type RouteContext } from "@effect/platform/HttpRouter"
import { toResponse } from "@effect/platform/HttpServerRespondable"
import { HttpServerRequest, type ParsedSearchParams } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import { ApiKeys } from "../ApiKeys.ts"
import { AuthorityCheck } from "../AuthorityCheck.ts"
import { Api } from "../contract/Api.ts"
import * as Wire from "../contract/Wire.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { FigureHistory } from "../providers/FigureHistory.ts"
import * as Authorization from "./Authorization.ts"
import type { CurrentRequest } from "./Call.ts"
import * as Decoding from "./Decoding.ts"
import { failure } from "./errorAnswer.ts"
import * as handlers from "./handlers.ts"
import * as HealthRoutes from "./HealthRoutes.ts"
import * as pages from "./PageRoutes.ts"
import { UsageReport } from "../UsageReport.ts"
import * as Prometheus from "../telemetry/Prometheus.ts"
import { RateLimit } from "./RateLimit.ts"
import * as Routes from "./Routes.ts"

export interface Options extends Pick<pages.Options, "hasSyntheticFigures"> {
  /** Origins whose pages may call the API from a browser. `*` allows every origin. */
  readonly corsOrigins: ReadonlyArray<string>
}

/** Finds the handler of a request. */
export interface Router {
  readonly routes: Routes.Routes
  readonly find: (method: string, url: string) => Match
}

interface Match {
  readonly app: App
  readonly route: AnyRoute | undefined
  /** The parameters of the path. */
  readonly params: Readonly<Record<string, string>>
}

type App = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, Given>
type AnyRoute = Route<unknown, Given>

/** What `Runner` provides to each request. */
export type Given = CurrentRequest | HttpServerRequest | ParsedSearchParams | RouteContext

/** The routes of the administration, and the API that declares them. */
export interface Administration {
  readonly api: Routes.Api
  readonly routes: Iterable<AnyRoute>
}

/**
 * Makes the router of the contract, the pages and the operator's paths. `administration` is absent
 * when it is off, or when a server of its own serves it.
 */
export const make = (options: Options, administration?: Administration) =>
  Effect.gen(function* () {
    const withCors = options.corsOrigins.length === 0 ? identity : cors(options.corsOrigins)
    const open = [
      ...(yield* contract),
      ...(yield* others({ ...options, hasAdministration: administration !== undefined })),
    ]
    const all =
      administration === undefined ? routes : Routes.make(publicPaths, Api, administration.api)
    return over(all, withCors, [
      ...open.map(entryOf(withCors)),
      // No page of another origin may call the administration.
      ...Array.from(administration?.routes ?? [], entryOf(identity)),
    ])
  })

/** Makes the router of a server that serves the administration and its console alone. */
export const makeAdministration = (options: Options, { api, routes }: Administration): Router =>
  over(
    Routes.make([pages.rootPath, pages.consolePath], api),
    identity,
    [...routes, ...pages.ofConsole({ ...options, hasAdministration: true })].map(entryOf(identity)),
  )

const entryOf =
  (wrap: (app: App) => App) =>
  (route: AnyRoute): readonly [string, Match] => [
    `${route.method} ${route.path}`,
    { route, app: wrap(Effect.flatMap(route.handler, toResponse)), params: {} },
  ]

const over = (
  routes: Routes.Routes,
  withCors: (app: App) => App,
  entries: Iterable<readonly [string, Match]>,
): Router => {
  const matches = new Map(entries)
  const answerNoRoute = Effect.map(HttpServerRequest, ({ method, url }) =>
    noRoute(routes, method, url),
  )
  const find: Router["find"] = (method, url) => {
    const found = routes.of(url)
    const match = matches.get(`${method === "HEAD" ? "GET" : method} ${found?.path}`)
    if (match !== undefined) {
      return found?.params === undefined ? match : { ...match, params: found.params }
    }
    const isClosed = found?.path.startsWith(Wire.adminPrefix) === true
    return { app: isClosed ? answerNoRoute : withCors(answerNoRoute), route: undefined, params: {} }
  }
  return { routes, find }
}

const endpoints = Object.values(Api.groups).flatMap(({ endpoints }) => Object.values(endpoints))

type Needed = ApiKeys | AuthorityCheck | CreditLedger | FigureHistory | RateLimit | UsageReport

// The contract's routes. They get only the services that their handlers need. The framework copies
// the services of a route per request, so each further service would cost time.
const contract = Effect.gen(function* () {
  const { routes } = yield* HttpApiBuilder.Router.router
  const withMiddleware = yield* HttpApiBuilder.buildMiddleware(Api)
  return Chunk.map(routes, ({ handler, method, path }) => {
    const endpoint = endpoints.find((one) => one.path === path && one.method === method)
    // The batch decodes its body itself, and takes no step more than it needs.
    const isDecoded = endpoint === undefined || path === Wire.batchPath
    const explained = isDecoded ? handler : Decoding.explained(endpoint)(handler)
    // The type of the middleware leaves out the services that `Runner` provides.
    const app = explained as Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>
    return makeRoute(method, path, withMiddleware(app))
  })
}).pipe(
  Effect.provide(
    Layer.merge(handlers.metrics, handlers.quota).pipe(
      Layer.provideMerge(Layer.merge(Authorization.layer, HttpApiBuilder.Router.Live)),
    ),
  ),
  Effect.mapInputContext((context: Context.Context<Needed>) =>
    Context.pick(
      ApiKeys,
      AuthorityCheck,
      CreditLedger,
      FigureHistory,
      RateLimit,
      UsageReport,
    )(context),
  ),
)

/** The routes that the contract does not declare. */
const others = (options: pages.Options) =>
  Effect.gen(function* () {
    return [
      ...(yield* HealthRoutes.make),
      ...pages.make(options),
      makeRoute("GET", metricsPath, yield* metrics),
      makeRoute("GET", openApiPath, yield* openApi),
    ]
  })

const metricsPath = "/metrics"

const metrics = Effect.map(Prometheus.make, (text) =>
  Effect.map(text, (body) =>
    HttpServerResponse.text(body, { contentType: Prometheus.contentType }),
  ),
)

const openApiPath = "/openapi.json"

// The OpenAPI document. It is generated at the first request for it, because generating it earlier
// would delay the server's start.
const openApi = Effect.cached(
  Effect.promise(async () => {
    const { fromApi } = await import("@effect/platform/OpenApi")
    return HttpServerResponse.unsafeJson(fromApi(Api))
  }),
)

const cors = (allowedOrigins: ReadonlyArray<string>) =>
  HttpMiddleware.cors({
    allowedOrigins,
    allowedMethods: ["GET", "POST"],
    allowedHeaders: [
      "content-type",
      "x-api-key",
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

const operatorPaths = [metricsPath, ...HealthRoutes.paths]

const publicPaths = [openApiPath, ...operatorPaths, pages.rootPath, ...pages.paths]

/** The routes of a server without the administration. */
export const routes = Routes.make(publicPaths, Api)

/**
 * Returns a function that is true when requests for a URL are traced. An unknown URL is not traced,
 * because a span records the URL, and a mistyped URL may contain an API key. The URLs for operators
 * are not traced either.
 */
export const isTraced =
  ({ routes }: Router) =>
  (url: string) =>
    routes.of(url)?.path === url && !operatorPaths.includes(url)

/** The answer 404 or 405 to a request without a route. */
export const noRoute = (routes: Routes.Routes, method: string, url: string) => {
  const route = routes.of(url)
  if (route === undefined) return failure(404, "There is nothing at this path.")
  const allow = route.methods.join(", ")
  return HttpServerResponse.setHeader(
    failure(405, `This path takes ${allow}, not ${method}.`),
    "allow",
    allow,
  )
}
