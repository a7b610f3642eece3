/** Records a span per request, named after OpenTelemetry's semantic conventions for HTTP. */
import * as Headers from "@effect/platform/Headers"
import * as HttpTraceContext from "@effect/platform/HttpTraceContext"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Tracer from "effect/Tracer"
import type { Request } from "./Request.ts"

export interface ServerSpan {
  /** The span of the request. Undefined when the request is not traced. */
  readonly parent: Tracer.Span | undefined
  readonly end: (status: number, headers: Readonly<Record<string, string>>) => void
}

/**
 * Starts the span of a request. The span joins the caller's trace when the request's headers name
 * one.
 */
export type Start = (request: Request) => ServerSpan

/** Other headers may hold the secrets of a client or of a proxy, or fill the memory. */
const recordedHeaders = [
  "content-encoding",
  "content-length",
  "content-type",
  "host",
  "idempotent-replayed",
  "origin",
  "ratelimit",
  "retry-after",
  "user-agent",
  "x-limit",
  "x-request-id",
]

const maxLength = 256

const untraced: ServerSpan = { parent: undefined, end: () => {} }

/** Makes a function that traces a request when `isTraced` returns true for the request's URL. */
export const make = (isTraced: (url: string) => boolean): Effect.Effect<Start> =>
  Effect.gen(function* () {
    const tracer = yield* Effect.tracer
    const clock = yield* Effect.clock

    return (request) => {
      const { method = "", url = "" } = request
      if (!isTraced(url)) return untraced
      const headers = Headers.fromInput(request.headers)
      const span = tracer.span(
        `http.server ${method}`,
        HttpTraceContext.fromHeaders(headers),
        Context.empty(),
        [],
        clock.unsafeCurrentTimeNanos(),
        "server",
      )
      const add = (prefix: string, headers: Headers.Headers) => {
        for (const name of recordedHeaders) {
          const value = headers[name]
          if (value !== undefined) span.attribute(`${prefix}.${name}`, value.slice(0, maxLength))
        }
      }
      span.attribute("http.request.method", method)
      span.attribute("url.path", url.slice(0, maxLength))
      span.attribute("http.route", url.slice(0, maxLength))
      Option.map(Option.fromNullable(request.socket.remoteAddress), (address) =>
        span.attribute("client.address", address),
      )
      add("http.request.header", headers)
      return {
        parent: span,
        end: (status, answered) => {
          span.attribute("http.response.status_code", status)
          add("http.response.header", Headers.fromInput(answered))
          span.end(clock.unsafeCurrentTimeNanos(), Exit.void)
        },
      }
    }
  })
