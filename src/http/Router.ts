/** Puts all routes of the service on one router. */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { ApiKeys } from "../ApiKeys.ts"
import { AuthorityCheck } from "../AuthorityCheck.ts"
import { Api } from "../contract/Api.ts"
import { CreditLedger } from "../CreditLedger.ts"
import * as Authorization from "./Authorization.ts"
import * as handlers from "./handlers.ts"
import * as HealthRoutes from "./HealthRoutes.ts"
import * as pages from "./PageRoutes.ts"
import * as Prometheus from "../telemetry/Prometheus.ts"
import { RateLimit } from "./RateLimit.ts"
import * as Routes from "./Routes.ts"

export interface Options extends pages.Options {
  /** Origins whose pages may call the API from a browser. `*` allows every origin. */
  readonly corsOrigins: ReadonlyArray<string>
}

export const layer = (options: Options) =>
  Layer.mergeAll(
    contract,
    others(options),
    options.corsOrigins.length === 0 ? Layer.empty : cors(options.corsOrigins),
  )

type Needed =
  ApiKeys | AuthorityCheck | CreditLedger | HttpLayerRouter.HttpRouter | RateLimit | Scope.Scope

// The contract's routes. They get only the services that their handlers need. The framework copies
// the services of a route several times per request, so each further service would cost time.
const contract = Layer.scopedContext(
  Effect.mapInputContext(
    Layer.build(
      HttpLayerRouter.addHttpApi(Api).pipe(
        Layer.provide([handlers.metrics, handlers.quota]),
        Layer.provide(Authorization.layer),
        Layer.provide(HttpServer.layerContext),
      ),
    ),
    (context: Context.Context<Needed>) =>
      Context.pick(
        ApiKeys,
        AuthorityCheck,
        CreditLedger,
        HttpLayerRouter.HttpRouter,
        RateLimit,
        Scope.Scope,
      )(context),
  ),
)

const others = (options: Options) =>
  HttpLayerRouter.use((router) =>
    Effect.gen(function* () {
      yield* HealthRoutes.add(router)
      yield* pages.add(router, options)
      yield* router.add("GET", metricsPath, yield* metrics)
      yield* router.add("GET", openApiPath, yield* openApi)
    }),
  )

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
  HttpLayerRouter.cors({
    allowedOrigins,
    allowedMethods: ["GET", "POST"],
    allowedHeaders: ["content-type", "x-api-key", "idempotency-key", "x-max-credits"],
    exposedHeaders: ["x-request-id", "idempotent-replayed", "retry-after", "ratelimit"],
    maxAge: 3600,
  })

const operatorPaths = [metricsPath, ...HealthRoutes.paths]

export const routes = Routes.make([openApiPath, ...operatorPaths, pages.rootPath, ...pages.paths])

/**
 * True when requests for a URL are traced. An unknown URL is not traced, because a span records the
 * URL, and a mistyped URL may contain an API key. The URLs for operators are not traced either.
 */
export const isTraced = (url: string) =>
  routes.of(url)?.path === url && !operatorPaths.includes(url)
