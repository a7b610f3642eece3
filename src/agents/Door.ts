/** Serves agents: the Model Context Protocol over HTTP, without sessions. */
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  originValidationResponse,
} from "@modelcontextprotocol/server"
import type * as HttpApp from "@effect/platform/HttpApp"
import { HttpServerRequest, toWeb } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Redacted from "effect/Redacted"
import { currentRequest } from "../http/CurrentRequest.ts"
import { authentication } from "../http/Authorization.ts"
import { answerTo, failure } from "../http/errorAnswer.ts"
import { RateLimit } from "../http/RateLimit.ts"
import * as Tools from "./Tools.ts"

export interface Options extends Tools.Options {
  /** The address that the server listens on. */
  readonly host: string
  /** The origins whose pages may call the API from a browser. `*` allows every origin. */
  readonly corsOrigins: ReadonlyArray<string>
}

/** Makes the handler of requests, whose tools send requests to `api`. */
export const make = (api: HttpApp.Default<unknown>, options: Options) =>
  Effect.gen(function* () {
    const authenticate = yield* authentication
    const { enter } = yield* RateLimit
    const serverOf = yield* Tools.make(api, options)

    return Effect.gen(function* () {
      const request = yield* toWeb(yield* HttpServerRequest)
      const foreign = foreignOf(request, options)
      if (foreign !== undefined) return yield* complete(foreign)
      const secret = secretOf(request.headers)
      const key = yield* authenticate(secret, yield* currentRequest)
      yield* enter(key.id)
      const run = yield* FiberSet.makeRuntimePromise()
      // Nothing here changes, so there is nothing to subscribe to.
      const handler = createMcpHandler(() => serverOf({ key, secret, run }), {
        maxSubscriptions: 0,
      })
      return yield* complete(yield* Effect.promise(() => handler.fetch(request)))
    }).pipe(
      Effect.catchTags({
        RequestError: () => Effect.succeed(failure(400, "The Host header is not valid.")),
        Unauthorized: (error) =>
          Effect.succeed(
            HttpServerResponse.setHeader(answerTo(error), "www-authenticate", "Bearer"),
          ),
      }),
      Effect.catchAll((error) => Effect.succeed(answerTo(error))),
    )
  })

/** Waits for the whole body, so that a stop waits until the tool has finished. */
const complete = (response: Response) =>
  Effect.map(
    Effect.promise(() => response.text()),
    (body) =>
      HttpServerResponse.setHeaders(
        HttpServerResponse.text(body, {
          status: response.status,
          contentType: response.headers.get("content-type") ?? "application/json",
        }),
        response.headers,
      ),
  )

const secretOf = (headers: Headers) => {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "") ?? []
  return Redacted.make(headers.get("x-api-key") ?? bearer ?? "")
}

/**
 * Refuses pages of other sites. On a server that only this machine can reach, also refuses host
 * names that were made to point here (DNS rebinding).
 */
const foreignOf = (request: Request, { corsOrigins, host }: Options) => {
  const known = corsOrigins.flatMap((origin) => URL.parse(origin)?.hostname ?? [])
  const local = localhostAllowedHostnames()
  const isLocal = local.includes(host) || local.includes(`[${host}]`)
  const own = new URL(request.url).hostname
  return (
    (corsOrigins.includes("*") ? undefined : originValidationResponse(request, [own, ...known])) ??
    (isLocal ? hostHeaderValidationResponse(request, [...local, ...known]) : undefined)
  )
}
