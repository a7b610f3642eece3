import type * as Http from "node:http"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { listenOnFreePort } from "../free-port.ts"

/**
 * Starts the server on a free port and returns its URL. Closing the scope stops the server and
 * closes its connections.
 */
export const listen = (server: Http.Server): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() => listenOnFreePort(server)),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        }),
    ),
    (port) => `http://127.0.0.1:${port}`,
  )
