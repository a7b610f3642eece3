/** The interface served over HTTP: what is answered at once, and the rest when it is there. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import { failure, internalErrorMessage } from "./Answer.ts"
import * as Direct from "./Direct.ts"
import * as Meters from "./Meters.ts"
import * as NodeServer from "./NodeServer.ts"
import * as operations from "./operations.ts"
import type { Router } from "./Router.ts"

export interface Options extends NodeServer.Options {
  /** Origins whose pages may call the interface from a browser; `*` is every origin. */
  readonly corsOrigins: ReadonlyArray<string>
  /** How long requests in flight may take once the server is told to stop. */
  readonly shutdownTimeout: Duration.DurationInput
}

/**
 * Listens once it is built; on release it stops accepting and answers what is in flight. Whoever
 * starts the service asks first whether it is ready, so that has its answer at hand. The router, for
 * all else, takes much more code: it is made as soon as the start is over, or for the first request
 * that is for it, which waits.
 */
export const layer = <E, R>(options: Options, router: Effect.Effect<Router, E, R>) =>
  Layer.scoped(
    NodeServer.Listener,
    Effect.gen(function* () {
      const listener = NodeServer.make(options)
      // What the router acquires is acquired last and released last: requests in flight need it.
      const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
      yield* Scope.extend(serving(options, router), scope).pipe(
        Effect.zipRight(NodeServer.listen(options)),
        Effect.zipRight(NodeServer.drain(options.shutdownTimeout)),
        Effect.provideService(NodeServer.Listener, listener),
      )
      return listener
    }),
  )

const serving = <E, R>(options: Options, router: Effect.Effect<Router, E, R>) =>
  Effect.gen(function* () {
    const { server } = yield* NodeServer.Listener
    const answerAtOnce = yield* atOnce(options)
    const { answer, load } = yield* late(router)
    const onRequest = (request: IncomingMessage, response: ServerResponse) =>
      answerAtOnce(request, response) || answer(request, response)
    yield* Effect.acquireRelease(
      Effect.sync(() => server.on("request", onRequest)),
      () => Effect.sync(() => server.off("request", onRequest)),
    )
    yield* Effect.forkScoped(Effect.delay(load, afterStart))
  })

const afterStart = "20 millis"

/** Whether it was for these to answer. */
const atOnce = ({ corsOrigins }: Options) =>
  Effect.gen(function* () {
    const handlers = yield* operations.make
    const answer = yield* Direct.make
    const endpoints = new Map<string, Direct.Endpoint>(
      operations.paths.map((path) => [
        path,
        { handler: handlers[path], start: Meters.make("GET", path) },
      ]),
    )
    return (request: IncomingMessage, response: ServerResponse) => {
      if (request.method !== "GET") return false
      const endpoint = endpoints.get(request.url ?? "")
      if (endpoint === undefined || Direct.needsCors(corsOrigins, request)) return false
      answer(endpoint, request, response)
      return true
    }
  })

/** The router as one that is there already, made once. */
const late = <E, R>(make: Effect.Effect<Router, E, R>) =>
  Effect.gen(function* () {
    const runFork = Runtime.runFork(yield* Effect.runtime<R>())
    let router: Router | undefined
    const made = yield* Effect.cached(
      Effect.tap(make, (it) => {
        router = it
      }),
    )
    const load = Effect.tapErrorCause(made, (cause) =>
      Effect.logError("The interface cannot be loaded.", cause),
    )
    const answer: Router = (request, response) => {
      if (router !== undefined) return router(request, response)
      runFork(
        Effect.matchCause(load, {
          onSuccess: (router) => {
            // Else the client hung up meanwhile, and nobody would be told of it again.
            if (!response.destroyed) router(request, response)
          },
          onFailure: () => {
            const { body, status } = failure(500, internalErrorMessage)
            response.writeHead(status, { "content-type": "application/json" }).end(body)
          },
        }),
      )
    }
    return { answer, load: Effect.ignore(load) }
  })
