/** The interface served over HTTP: what is answered at once, and what is loaded for the rest. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { failure, internalErrorMessage } from "./Answer.ts"
import * as Direct from "./Direct.ts"
import * as Meters from "./Meters.ts"
import * as NodeServer from "./NodeServer.ts"
import * as operations from "./operations.ts"
import type * as Router from "./Router.ts"

export interface Options extends NodeServer.Options, Router.Options {
  /** How long requests in flight may take once the server is told to stop. */
  readonly shutdownTimeout: Duration.DurationInput
}

/** Listens once it is built; on release it stops accepting and answers what is in flight. */
export const layer = (options: Options) =>
  NodeServer.drain(options.shutdownTimeout).pipe(
    Layer.provideMerge(NodeServer.listen(options)),
    Layer.provideMerge(served(options)),
    Layer.provideMerge(NodeServer.layer(options)),
  )

/**
 * Whoever starts the service asks first whether it is ready, so that has its answer at hand. All
 * else takes twice as much code: it is loaded as soon as the start is over, and what comes before
 * waits for it.
 */
const served = (options: Options) =>
  Effect.gen(function* () {
    const { server } = yield* NodeServer.Listener
    const answerAtOnce = yield* atOnce(options)
    const router = yield* loaded(options)
    const onRequest = (request: IncomingMessage, response: ServerResponse) =>
      answerAtOnce(request, response) || router.answer(request, response)
    yield* Effect.acquireRelease(
      Effect.sync(() => server.on("request", onRequest)),
      () => Effect.sync(() => server.off("request", onRequest)),
    )
    yield* Effect.forkScoped(Effect.delay(router.load, afterStart))
  }).pipe(Layer.scopedDiscard)

const afterStart = "50 millis"

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

type Needs<E> = E extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

/** The router, which is imported when it is needed first. */
const loaded = (options: Options) =>
  Effect.map(Effect.runtime<Needs<ReturnType<typeof Router.make>>>(), (runtime) => {
    let router: Router.Router | undefined
    let loading: Promise<Router.Router> | undefined
    const make = async () => {
      try {
        const { make } = await import("./Router.ts")
        router = await Runtime.runPromise(runtime)(make(options))
        return router
      } catch (error) {
        // Of sources that are being replaced, for example: the next request tries again.
        loading = undefined
        Runtime.runFork(runtime)(Effect.logError("The interface cannot be loaded.", error))
        throw error
      }
    }
    const load = () => (loading ??= make())
    return {
      load: Effect.ignore(Effect.tryPromise(load)),
      answer: (request: IncomingMessage, response: ServerResponse) => {
        if (router !== undefined) return router(request, response)
        load().then(
          (router) => {
            // Else the client hung up meanwhile, and nobody would be told of it again.
            if (!response.destroyed) router(request, response)
          },
          () => {
            const { body, status } = failure(500, internalErrorMessage)
            response.writeHead(status, { "content-type": "application/json" }).end(body)
          },
        )
      },
    }
  })
