/**
 * Sends requests to the HTTP API without a network, so that a tool has the same authorization,
 * limits, charges and messages as the endpoint that it calls.
 */
import { Readable } from "node:stream"
import * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import type * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as MonotonicClock from "../check/MonotonicClock.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import * as EachRequest from "../http/EachRequest.ts"

/** Why a tool refuses a call: a code for programs, and one sentence that says what to do. */
export class Problem extends Data.TaggedError("Problem")<{
  readonly code: string
  readonly message: string
  readonly retryAfterSeconds?: number
  /** The most that the check may cost. */
  readonly maxCredits?: number
  /** What the next call must pass as `approval` once the user agrees. */
  readonly quote?: string
}> {}

export interface Asked {
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  /** The JSON body, which makes the request a POST. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Makes a function that sends a request with an API key and returns the content of the answer. */
export const make = (api: HttpApp.Default<unknown>) => (apiKey: string) => (asked: Asked) =>
  Effect.gen(function* () {
    const { body, headers, path, query = {} } = asked
    const url = new URL(path, "http://localhost")
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const web = new Request(url, {
      method: body === undefined ? "GET" : "POST",
      headers: { ...headers, "x-api-key": apiKey, "content-type": "application/json" },
    })
    // The API reads the body from the stream of Node's request.
    const stream = Readable.from(body === undefined ? [] : [Buffer.from(JSON.stringify(body))])
    const { method } = web
    const source = Object.assign(stream, { method, headers: web.headers })
    const request = Object.assign(HttpServerRequest.fromWeb(web), { source })
    const arrived = EachRequest.arrive(request, undefined, yield* MonotonicClock.now)
    const response = yield* api.pipe(
      Effect.catchAllCause(EachRequest.answerFailure(arrived)),
      Effect.flatMap(withHeaders(request)),
      Effect.locally(HttpApp.currentPreResponseHandlers, Option.none()),
      Effect.provideService(HttpServerRequest.HttpServerRequest, request),
      Effect.provideService(CurrentRequest, arrived.current),
      Effect.scoped,
    )
    return yield* read(response)
  })

/** Adds the headers that handlers registered, such as `Retry-After`. */
const withHeaders =
  (request: HttpServerRequest.HttpServerRequest) =>
  (response: HttpServerResponse.HttpServerResponse) =>
    Effect.flatMap(
      FiberRef.get(HttpApp.currentPreResponseHandlers),
      Option.match({
        onNone: () => Effect.succeed(response),
        onSome: (handler) => Effect.orDie(handler(request, response)),
      }),
    )

const read = ({
  body,
  headers,
  status,
}: HttpServerResponse.HttpServerResponse): Effect.Effect<typeof Document.Type, Problem> => {
  if (body._tag !== "Uint8Array") throw new Error("the answer is not JSON")
  const answer = decode(Buffer.from(body.body).toString())
  if (answer.success) {
    const isReplay = headers["idempotent-replayed"] === "true"
    return Effect.succeed({ ...answer.data, ...answer.quota, ...(isReplay && { creditsUsed: 0 }) })
  }
  const wait = headers["retry-after"]
  return new Problem({
    code: codeOf(status, headers),
    message: messages[status] ?? answer.message,
    ...(wait !== undefined && { retryAfterSeconds: Number(wait) }),
  })
}

const Document = Schema.Record({ key: Schema.String, value: Schema.Unknown })

const decode = Schema.decodeSync(
  Schema.parseJson(
    Schema.Union(
      Schema.Struct({
        success: Schema.Literal(true),
        data: Document,
        quota: Schema.optional(Document),
      }),
      Schema.Struct({ success: Schema.Literal(false), message: Schema.String }),
    ),
  ),
)

const codeOf = (status: number, headers: Readonly<Record<string, string>>) => {
  if (status !== 402) return codes[status] ?? "internal"
  if (headers["x-limit"] === "balance") return "not_enough_credits"
  return headers["retry-after"] === undefined ? "budget_spent" : "budget_held"
}

const codes: Readonly<Record<number, string>> = {
  400: "invalid_request",
  401: "unauthorized",
  403: "forbidden",
  409: "in_progress",
  422: "name_reused",
  429: "rate_limited",
  503: "unavailable",
}

/** Replaces messages of the HTTP API that name a header. */
const messages: Readonly<Record<number, string>> = {
  409: "A check with this name is in progress; repeat the call when it has ended.",
  422: "This name was used for other urls; use another name.",
}
