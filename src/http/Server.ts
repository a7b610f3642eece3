/** The interface served over HTTP: what is answered at once, and the rest when it is there. */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import { failure, internalErrorMessage } from "./Answer.ts"
import { newRequestId } from "./CurrentRequest.ts"
import * as Direct from "./Direct.ts"
import * as Meters from "./Meters.ts"
import * as NodeServer from "./NodeServer.ts"
import * as operations from "./operations.ts"
import type { Options as RouterOptions, Router } from "./Router.ts"

export interface Options extends NodeServer.Options, Pick<RouterOptions, "corsOrigins"> {
  /** How long requests in flight may take once the server is told to stop. */
  readonly shutdownTimeout: Duration.DurationInput
}

/**
 * Listens once it is built; on release it stops accepting and answers what is in flight. Whoever
 * starts the service asks first whether it is ready, so that has its answer at hand. The router, for
 * all else, takes much more code: it is made as soon as the start is over, or for the first request
 * that is for it, which waits. Where it cannot be made, that is for its effect to tell.
 */
export const layer = <E, R>(options: Options, router: Effect.Effect<Router, E, R>) =>
  Layer.scoped(
    NodeServer.Listener,
    Effect.tap(
      Effect.sync(() => NodeServer.make(options)),
      (listener) => Effect.provideService(serving(options, router), NodeServer.Listener, listener),
    ),
  )

/** Each of these ends before what was begun before it. */
const serving = <E, R>(options: Options, router: Effect.Effect<Router, E, R>) =>
  Effect.gen(function* () {
    const { server } = yield* NodeServer.Listener
    // What the router acquires later is needed for as long as there are requests.
    const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
    const answerAtOnce = yield* atOnce(options)
    const { answer, load } = yield* late(Scope.extend(router, scope))
    const onRequest = (request: IncomingMessage, response: ServerResponse) =>
      answerAtOnce(request, response) || answer(request, response)
    yield* Effect.acquireRelease(
      Effect.sync(() => server.on("request", onRequest)),
      () => Effect.sync(() => server.off("request", onRequest)),
    )
    yield* NodeServer.listen(options)
    yield* Effect.forkScoped(load)
    yield* NodeServer.drain(options.shutdownTimeout)
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

/** The router as one that is there already. One fiber makes it: `load`. */
const late = <E, R>(make: Effect.Effect<Router, E, R>) =>
  Effect.gen(function* () {
    const runFork = Runtime.runFork(yield* Effect.runtime())
    const wanted = yield* Deferred.make<void>()
    const made = yield* Deferred.make<Router, E>()
    let router: Router | undefined
    const load = Effect.raceFirst(Effect.sleep(afterStart), Deferred.await(wanted)).pipe(
      Effect.zipRight(make),
      Effect.tap((it) => {
        router = it
      }),
      Effect.intoDeferred(made),
    )
    const answer: Router = (request, response) => {
      if (router !== undefined) return router(request, response)
      Deferred.unsafeDone(wanted, Effect.void)
      runFork(
        Effect.matchCause(Deferred.await(made), {
          onSuccess: (router) => {
            // Else the client hung up meanwhile, and nobody would be told of it again.
            if (!response.destroyed) router(request, response)
          },
          onFailure: () => {
            Direct.send(response, newRequestId(), failure(500, internalErrorMessage))
          },
        }),
      )
    }
    return { answer, load }
  })
