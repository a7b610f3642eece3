/** Serves the administration: the same stores and rules as the command line, over HTTP. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { makeRoute, type Route } from "@effect/platform/HttpRouter"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import type * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { Actor } from "../AuditLog.ts"
import { AdminApi } from "../contract/AdminApi.ts"
import * as Decoding from "../http/Decoding.ts"
import type { Administration, Given } from "../http/Router.ts"
import { addressOf } from "./addressOf.ts"
import * as Authorization from "./Authorization.ts"
import * as handlers from "./handlers.ts"

/** Makes the routes of the administration. */
export const make = (token: Redacted.Redacted<string>) =>
  Effect.gen(function* () {
    const { routes } = yield* HttpApiBuilder.Router.router
    const withMiddleware = yield* HttpApiBuilder.buildMiddleware(AdminApi)
    const served = Array.from(routes, ({ handler, method, path }): Route<unknown, Given> => {
      const endpoint = endpoints.find((one) => one.path === path && one.method === method)
      const explained = endpoint === undefined ? handler : Decoding.explained(endpoint)(handler)
      // The type of the middleware leaves out the services of each request.
      const known = Effect.flatMap(HttpServerRequest, (request) =>
        Effect.provideService(explained, Actor, `admin@${addressOf(request)}`),
      )
      const app = known as Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>
      return makeRoute(method, path, withMiddleware(app))
    })
    return { api: AdminApi, routes: served } satisfies Administration
  }).pipe(
    Effect.provide(
      handlers.layer.pipe(
        Layer.provideMerge(Layer.merge(Authorization.layer(token), HttpApiBuilder.Router.Live)),
      ),
    ),
  )

const endpoints = Object.values(AdminApi.groups).flatMap(({ endpoints }) =>
  Object.values(endpoints),
)
