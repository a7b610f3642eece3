/**
 * Serves the API over HTTP, on the framework's server. It starts to listen once everything that a
 * request needs is built.
 */
import * as Headers from "@effect/platform/Headers"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as EachRequest from "./EachRequest.ts"
import * as FastPath from "./FastPath.ts"
import * as NodeServer from "./NodeServer.ts"
import * as PageRoutes from "./documents/PageRoutes.ts"
import * as RateLimit from "./RateLimit.ts"
import * as Routes from "./Routes.ts"

export interface Options extends NodeServer.Options, EachRequest.Options {
  /** How long requests may continue after a shutdown has begun. */
  readonly shutdownTimeout: Duration.DurationInput
  /** The limit of each account; undefined for none. */
  readonly rateLimit: RateLimit.Limit | undefined
  /** Tracing takes time, so it is off when no exporter is configured. */
  readonly isTraced: boolean
  /** True when figures may be synthetic, which the console then points out. */
  readonly hasSyntheticFigures: boolean
}

export interface AdministrationOptions<R = never> {
  /** The address of a separate server; undefined when the API's server also serves it. */
  readonly own: Pick<NodeServer.Options, "host" | "port"> | undefined
  readonly routes: Effect.Effect<ReadonlyArray<Routes.Route>, never, R>
}

export type MoreRoutes<R> = (
  contract: ReadonlyArray<Routes.Route>,
) => Effect.Effect<ReadonlyArray<Routes.Route>, never, R>

/**
 * `more` makes further routes, which may call those of the contract. On release, the server drains
 * before the layers that it needs are released.
 */
export const layer = <R = never, More = never>(
  options: Options,
  administration?: AdministrationOptions<R>,
  more: MoreRoutes<More> = () => Effect.succeed([]),
) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const hasAdministration = administration !== undefined && administration.own === undefined
      const contract = yield* Routes.contract
      const routes = [
        ...contract,
        ...(yield* Routes.others({ ...options, hasAdministration })),
        ...(hasAdministration ? yield* administration.routes : []),
        ...(yield* more(contract)),
      ]
      yield* serve(yield* NodeServer.Listener, routes, options)
      if (administration?.own === undefined) return
      const listener = NodeServer.make(options)
      const pages = PageRoutes.ofConsole({ ...options, hasAdministration: true })
      const all = [...pages.map((route) => ({ route })), ...(yield* administration.routes)]
      const ofOwn = {
        ...options,
        ...administration.own,
        settingPrefix: "AUTHORITY_ADMIN",
        corsOrigins: [],
      }
      yield* serve(listener, all, ofOwn)
      yield* Effect.logInfo(`Administration: ${listener.address().url}/console/operator`)
    }),
  ).pipe(
    Layer.provideMerge(Layer.sync(NodeServer.Listener, () => NodeServer.make(options))),
    Layer.provideMerge(RateLimit.layer(options.rateLimit)),
  )

const serve = (
  listener: NodeServer.Listener["Type"],
  routes: ReadonlyArray<Routes.Route>,
  options: Options,
) =>
  Effect.gen(function* () {
    const requests = yield* Scope.make()
    const running = yield* Scope.extend(FiberSet.make(), requests)
    const pathOf = Routes.pathFinder(routes)
    const server = { ...listener, pathOf, running }
    const eachRequest = EachRequest.make(server, options)
    const router = HttpRouter.fromIterable(routes.map(({ route }) => route))
    const app = yield* HttpRouter.withRouterConfig(HttpRouter.toHttpApp(router), Routes.config)
    const handler = yield* NodeHttpServer.makeHandler(eachRequest(app)).pipe(
      HttpMiddleware.withTracerDisabledWhenEffect(
        ({ url }) => !options.isTraced || !isTraced(url, pathOf(url)),
      ),
      Effect.locally(Headers.currentRedactedNames, [unrecordedHeaders]),
    )
    const fastPath = yield* FastPath.make(server, options)
    listener.server.on("request", fastPath(handler))
    yield* NodeServer.listen(listener, options)
    yield* Effect.addFinalizer(() => stop(listener, running, requests, options.shutdownTimeout))
  })

/** Waits at most a second for what cannot be interrupted, such as a commit that hangs. */
const stop = (
  { drain, server }: NodeServer.Listener["Type"],
  running: FiberSet.FiberSet,
  requests: Scope.CloseableScope,
  timeout: Duration.DurationInput,
) =>
  Effect.gen(function* () {
    const idle = Effect.zipRight(drain, FiberSet.awaitEmpty(running))
    yield* Effect.timeoutOption(Effect.interruptible(idle), timeout)
    server.closeAllConnections()
    const end = Effect.disconnect(Scope.close(requests, Exit.void))
    yield* Effect.timeoutOption(Effect.interruptible(end), "1 second")
  })

/** A span records the URL, but a mistyped URL or a query may contain an API key. */
const isTraced = (url: string, path: Routes.Path | undefined) =>
  path?.path === url && !Routes.operatorPaths.includes(url)

/** Keeps these headers out of spans, because they may contain secrets of a client or a proxy. */
const unrecordedHeaders =
  /^(?!(?:content-encoding|content-length|content-type|host|idempotent-replayed|origin|ratelimit|retry-after|user-agent|x-limit|x-request-id)$)/i
