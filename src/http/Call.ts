/** A request in progress, and the one way to answer it, which measures, logs and traces it. */
import type { ServerResponse } from "node:http"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { AccountKey } from "../ApiKeys.ts"
import type { Report } from "../Report.ts"
import { RequestId } from "../RequestId.ts"
import * as Meters from "../telemetry/HttpMeters.ts"
import { uniqueId } from "../text/uniqueId.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import type { Request } from "./Request.ts"
import * as RequestLog from "./RequestLog.ts"
import type { Routes } from "./Routes.ts"
import type * as ServerSpan from "./ServerSpan.ts"

/** The request in progress, and what its log line says of it. */
export interface Current {
  /**
   * The id of the request. It appears in the header `x-request-id`, in the log and in the account's
   * statement.
   */
  readonly id: RequestId
  /** When the request must be answered: a time of `MonotonicClock`. */
  readonly deadline: number
  key?: AccountKey
  report?: Report
}

/** A server provides a new one for each request. */
export class CurrentRequest extends Context.Tag("authority/http/CurrentRequest")<
  CurrentRequest,
  Current
>() {}

/**
 * The request in progress, for handlers and middleware, whose types allow only what the framework's
 * router provides. Dies when the server provides no CurrentRequest.
 */
export const currentRequest = Effect.orDie(Effect.serviceOptional(CurrentRequest))

export interface Call {
  readonly request: Request
  readonly response: ServerResponse
  readonly current: Current
  readonly span: ServerSpan.ServerSpan
  /** Measures and logs the answer, and sends it unless the client has hung up. */
  readonly answer: (
    status: number,
    headers: Readonly<Record<string, string>>,
    body?: string | Uint8Array,
  ) => void
}

export interface Options {
  /**
   * The origins that get CORS headers. When the list is not empty, answers differ by origin, so
   * every answer has `Vary: Origin`.
   */
  readonly corsOrigins: ReadonlyArray<string>
  /** The maximum duration of a request, measured from its arrival. */
  readonly requestTimeout: Duration.DurationInput
  /** Makes the id of a request. Default: a UUID. */
  readonly newRequestId?: () => Current["id"]
}

/** Returns a function that begins a call. */
export const make = (routes: Routes, startSpan: ServerSpan.Start, options: Options) =>
  Effect.gen(function* () {
    const { corsOrigins, newRequestId = uniqueRequestId } = options
    const timeoutMs = Duration.toMillis(options.requestTimeout)
    const clock = yield* Effect.clock
    const log = yield* RequestLog.make
    const vary = corsOrigins.length > 0 ? "Origin" : undefined

    return (request: Request, response: ServerResponse): Call => {
      const { method = "", url = "" } = request
      const startedAt = MonotonicClock.unsafeNow(clock)
      const current: Current = { id: newRequestId(), deadline: startedAt + timeoutMs }
      const span = startSpan(request)
      const answer: Call["answer"] = (status, headers, body) => {
        const route = routes.of(url)
        const durationMs = MonotonicClock.unsafeNow(clock) - startedAt
        Meters.answered(method, route?.path ?? "other", status, durationMs / 1000)
        const endpoint = route?.endpoints && (route.endpoints[method] ?? route.path)
        log(endpoint, current, status, durationMs)
        const all: Record<string, string> = { ...headers, "x-request-id": current.id }
        if (isPrivate(url)) all["cache-control"] = "no-store"
        if (vary !== undefined) all["vary"] = mergeNames(headers["vary"], vary)
        span.end(status, all)
        if (response.destroyed) return
        response.writeHead(status, all)
        // Node writes Latin-1 faster than UTF-8. A text of as many bytes as characters is ASCII.
        const isAscii = Number(headers["content-length"]) === body?.length
        response.end(method === "HEAD" ? undefined : body, isAscii ? "latin1" : "utf8")
      }
      return { request, response, current, span, answer }
    }
  })

// True for a URL under `/v1` or `/admin`. No cache may store the answers to requests for these URLs.
// Ignores case and extra slashes, as the router does.
const isPrivate = (url: string) => /^\/+(?:v1|admin)(?:[/?]|$)/i.test(url)

/** Merges two header values that list names. Names are compared without case. */
export const mergeNames = (list: string | undefined, more: string) => {
  const names = [...(list?.split(/\s*,\s*/) ?? []), ...more.split(/\s*,\s*/)]
  const byName = new Map(names.map((name) => [name.toLowerCase(), name]))
  return [...byName.values()].join(", ")
}

const uniqueRequestId = () => RequestId.make(uniqueId(), { disableValidation: true })
