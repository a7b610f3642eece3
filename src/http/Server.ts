/**
 * Serves the API over HTTP. The server starts to listen after everything that a request needs is
 * built.
 */
import type { ServerResponse } from "node:http"
import { setImmediate } from "node:timers"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Call from "./Call.ts"
import * as NodeServer from "./NodeServer.ts"
import * as RateLimit from "./RateLimit.ts"
import * as HeaderCheck from "./HeaderCheck.ts"
import type { Request } from "./Request.ts"
import * as Router from "./Router.ts"
import * as Runner from "./Runner.ts"
import * as ServerSpan from "./ServerSpan.ts"

export interface Options extends NodeServer.Options, Router.Options, Call.Options {
  /** The maximum duration of requests in flight after a shutdown has begun. */
  readonly shutdownTimeout: Duration.DurationInput
  /** The rate limit that applies to each account; undefined for no limit. */
  readonly rateLimit: RateLimit.Limit | undefined
  /**
   * True when requests are traced. Tracing costs time, so it is off when no exporter is configured.
   */
  readonly isTraced: boolean
}

export interface AdministrationOptions<R = never> {
  /** The address of a server of its own. Undefined: the server of the API serves it too. */
  readonly own: Pick<NodeServer.Options, "host" | "port"> | undefined
  readonly load: () => Promise<{
    readonly make: Effect.Effect<Router.Administration, never, R>
  }>
}

/**
 * Building the layer starts the server. On release, the server drains before the layers that it
 * needs are released.
 */
export const layer = <R = never>(options: Options, administration?: AdministrationOptions<R>) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const part = yield* partOf(administration)
      const own = administration?.own
      const router = yield* Router.make(options, own === undefined ? part : undefined)
      yield* serve(options, router)
      if (own === undefined || part === undefined) return
      const listener = NodeServer.make(options)
      const ofOwn = { ...options, ...own, settingPrefix: "AUTHORITY_ADMIN", corsOrigins: [] }
      yield* serve(ofOwn, Router.makeAdministration(options, part)).pipe(
        Effect.provideService(NodeServer.Listener, listener),
      )
      yield* Effect.logInfo(`Administration on ${listener.address().url}/console.`)
    }),
  ).pipe(
    Layer.provideMerge(Layer.sync(NodeServer.Listener, () => NodeServer.make(options))),
    Layer.provideMerge(RateLimit.layer(options.rateLimit)),
  )

const partOf = <R>(
  administration: AdministrationOptions<R> | undefined,
): Effect.Effect<Router.Administration | undefined, never, R> =>
  administration === undefined
    ? Effect.succeed(undefined)
    : Effect.flatMap(Effect.promise(administration.load), ({ make }) => make)

/** Listens until the scope ends, and answers every request. */
const serve = (options: Options, router: Router.Router) =>
  Effect.gen(function* () {
    const { isEnding, server } = yield* NodeServer.Listener
    const isTraced = Router.isTraced(router)
    const startSpan = yield* ServerSpan.make((url) => options.isTraced && isTraced(url))
    const begin = yield* Call.make(router.routes, startSpan, options)
    const { cutOff, run, running } = yield* Runner.make(router)
    const answer = (request: Request, response: ServerResponse) => {
      // The connection closes after the answer to an earlier request, so this request gets no
      // answer.
      if (isEnding(request.socket)) return
      const call = begin(request, response)
      const refusal = HeaderCheck.refusalOf(request)
      if (refusal === undefined) run(call)
      else Runner.answer(call, refusal)
    }
    // A body that arrived together with its headers is complete only in the next turn of the
    // event loop, so wait for that turn.
    const onRequest = (request: Request, response: ServerResponse) => {
      if (request.hasBody) setImmediate(answer, request, response)
      else answer(request, response)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => server.on("request", onRequest)),
      () => Effect.sync(() => server.off("request", onRequest)),
    )
    yield* NodeServer.listen(options)
    yield* NodeServer.drain(options.shutdownTimeout, running, cutOff)
  })
