/** Serves the administration: the same stores and rules as the command line, over HTTP. */
import { createHash, timingSafeEqual } from "node:crypto"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Actor } from "../../accounts/AuditLog.ts"
import {
  AdminApi,
  Administrator,
  wrongTokenMessage,
  wrongTokensMessage,
} from "../../contract/AdminApi.ts"
import { TooManyRequests, Unauthorized } from "../../contract/Envelope.ts"
import { refuse } from "../errorAnswer.ts"
import * as RateLimit from "../RateLimit.ts"
import * as Routes from "../Routes.ts"
import * as handlers from "./handlers.ts"
import * as overview from "./overview.ts"

export interface Options extends overview.Options {
  readonly token: Redacted.Redacted<string>
}

export const make = ({ token, ...options }: Options) =>
  Routes.ofApi(AdminApi, (app) =>
    Effect.flatMap(HttpServerRequest, (request) =>
      Effect.provideService(app, Actor, `admin@${addressOf(request)}`),
    ),
  ).pipe(
    Effect.provide(
      Layer.merge(handlers.layer, overview.layer(options)).pipe(
        Layer.provideMerge(Layer.merge(authorization(token), HttpApiBuilder.Router.Live)),
      ),
    ),
  )

const wrongTokens = { requests: 10, per: Duration.minutes(1) }

/** The address that a request came from, which may be that of a proxy. */
const addressOf = ({ remoteAddress }: HttpServerRequest) =>
  Option.getOrElse(remoteAddress, () => "unknown")

const digestOf = (token: Redacted.Redacted<string>) =>
  createHash("sha256").update(Redacted.value(token)).digest()

/**
 * Checks the token. A wrong token gets 401, or 429 after ten wrong ones from the same address
 * within a minute. The right one is always accepted.
 */
const authorization = (token: Redacted.Redacted<string>): Layer.Layer<Administrator> =>
  Layer.effect(
    Administrator,
    Effect.map(Effect.clock, (clock) => {
      const expected = digestOf(token)
      const count = RateLimit.counter<string>(wrongTokens, clock)
      const refusal = Effect.gen(function* () {
        const tooMany = count(addressOf(yield* HttpServerRequest))
        if (tooMany === undefined)
          return yield* refuse(new Unauthorized({ message: wrongTokenMessage }))
        return yield* refuse(new TooManyRequests({ ...tooMany, message: wrongTokensMessage }))
      })
      return Administrator.of({
        token: (given) => (timingSafeEqual(digestOf(given), expected) ? Effect.void : refusal),
      })
    }),
  )
