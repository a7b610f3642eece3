/** Serves the administration: the same stores and rules as the command line, over HTTP. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { Actor } from "../../accounts/AuditLog.ts"
import { AdminApi } from "../../contract/AdminApi.ts"
import * as Routes from "../Routes.ts"
import * as Authorization from "./Authorization.ts"
import * as handlers from "./handlers.ts"
import * as overview from "./overview.ts"

export interface Options extends overview.Options {
  readonly token: Redacted.Redacted<string>
}

/** Makes the routes of the administration. */
export const make = ({ token, ...options }: Options) =>
  Routes.ofApi(AdminApi, (app) =>
    Effect.flatMap(HttpServerRequest, (request) =>
      Effect.provideService(app, Actor, `admin@${Authorization.addressOf(request)}`),
    ),
  ).pipe(
    Effect.provide(
      Layer.merge(handlers.layer, overview.layer(options)).pipe(
        Layer.provideMerge(Layer.merge(Authorization.layer(token), HttpApiBuilder.Router.Live)),
      ),
    ),
  )
