/** Answers a request with an error of the contract, and with the headers that belong to the error. */
import * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { retryAfterSeconds } from "../contract/Envelope.ts"

/** The headers that an error adds to the answer. */
export const headersOf = ({ _tag }: { readonly _tag: string }): Readonly<Record<string, string>> =>
  _tag === "Conflict" || _tag === "ServiceUnavailable" ? retryLater : none

const none = {}

const retryLater = { "retry-after": String(retryAfterSeconds) }

/** Fails with the error and adds the headers to the answer. */
export const refuse = <E extends { readonly _tag: string }>(
  error: E,
  headers = headersOf(error),
): Effect.Effect<never, E> =>
  Effect.zipRight(
    HttpApp.appendPreResponseHandler((_, response) =>
      Effect.succeed(HttpServerResponse.setHeaders(response, headers)),
    ),
    Effect.fail(error),
  )
