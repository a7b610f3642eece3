/** The routes of a server: an API, its pages and the operator's paths. */
import type { HttpApi } from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type { HttpApiGroup } from "@effect/platform/HttpApiGroup"
import { FindMyWay } from "@effect/platform/HttpLayerRouter"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import { Api } from "../contract/Api.ts"
import * as Prometheus from "./telemetry/Prometheus.ts"
import * as Authorization from "./Authorization.ts"
import * as Decoding from "./Decoding.ts"
import * as handlers from "./handlers.ts"
import * as HealthRoutes from "./HealthRoutes.ts"
import * as PageRoutes from "./documents/PageRoutes.ts"

export interface Route {
  readonly route: HttpRouter.Route<unknown>
  readonly endpoint?: string
}

/** A group whose endpoints need no services to decode a request. */
type Group = HttpApiGroup.Any & {
  readonly endpoints: Readonly<
    Record<string, Decoding.Endpoint & Record<"method" | "name" | "path", string>>
  >
}

/**
 * Makes the routes of an API like `HttpLayerRouter.addHttpApi`, but with our own 400 inside of the
 * API's middleware. `wrap` wraps each handler.
 */
export const ofApi = <Id extends string, Groups extends Group, E, R>(
  api: HttpApi<Id, Groups, E, R>,
  wrap: (app: App) => App = identity,
) =>
  Effect.gen(function* () {
    const { routes } = yield* HttpApiBuilder.Router.router
    const withMiddleware = yield* HttpApiBuilder.buildMiddleware(api)
    const endpoints = Object.values(api.groups).flatMap(({ endpoints }) => Object.values(endpoints))
    return Array.from(routes).flatMap(({ handler, method, path }): ReadonlyArray<Route> => {
      const endpoint = endpoints.find((one) => one.path === path && one.method === method)
      if (endpoint === undefined) return []
      // The middleware's type leaves out the services that each request provides.
      const app = wrap(Decoding.explained(endpoint)(handler as App)) as Effect.Effect<Response>
      const route = HttpRouter.makeRoute(method, path, withMiddleware(app))
      return [{ route, endpoint: endpoint.name }]
    })
  })

type Response = HttpServerResponse.HttpServerResponse
type App = Effect.Effect<Response, unknown, HttpRouter.HttpRouter.Provided>

export const contract = ofApi(Api).pipe(
  Effect.provide(
    Layer.merge(handlers.metrics, handlers.quota).pipe(
      Layer.provideMerge(Layer.merge(Authorization.layer, HttpApiBuilder.Router.Live)),
    ),
  ),
)

export const others = (options: PageRoutes.Options) =>
  Effect.gen(function* () {
    const routes = [
      ...(yield* HealthRoutes.make),
      ...PageRoutes.make(options),
      HttpRouter.makeRoute("GET", "/metrics", yield* metrics),
      HttpRouter.makeRoute("GET", "/openapi.json", yield* openApi),
    ]
    return routes.map((route): Route => ({ route }))
  })

export const operatorPaths: ReadonlyArray<string> = ["/metrics", ...HealthRoutes.paths]

const metrics = Effect.map(Prometheus.make, (text) =>
  Effect.map(text, (body) =>
    HttpServerResponse.text(body, { contentType: Prometheus.contentType }),
  ),
)

// Generated when it is first requested, because generating it earlier would delay the start.
const openApi = Effect.cached(
  Effect.promise(async () => {
    const { fromApi } = await import("@effect/platform/OpenApi")
    return HttpServerResponse.unsafeJson(fromApi(Api))
  }),
)

export interface Path {
  readonly path: string
  readonly methods: ReadonlyArray<string>
  /** The names of the endpoints, by method; empty for a page. */
  readonly endpoints: Readonly<Record<string, string>>
}

/** Account names can be longer than the router allows by default. */
export const config = { maxParamLength: 1000 }

/** Makes a function that finds the route of a URL, whatever the method is. */
export const pathFinder = (routes: ReadonlyArray<Route>) => {
  const paths = new Map<HttpRouter.PathInput, Path>()
  for (const { endpoint, route } of routes) {
    const { endpoints = {}, methods = [] } = paths.get(route.path) ?? {}
    paths.set(route.path, {
      path: route.path,
      methods: [...methods, route.method],
      endpoints: endpoint === undefined ? endpoints : { ...endpoints, [route.method]: endpoint },
    })
  }
  const router = FindMyWay.make<Path>(config)
  for (const path of paths.values()) router.on("GET", path.path as HttpRouter.PathInput, path)
  return (url: string): Path | undefined => router.find("GET", url)?.handler
}
