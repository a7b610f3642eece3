/** The span of a request that the router never sees, with the attributes that the framework gives. */
import * as HttpTraceContext from "@effect/platform/HttpTraceContext"
import * as PlatformHeaders from "@effect/platform/Headers"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import type { Request } from "../http/Request.ts"

export interface ServerSpan {
  readonly end: (status: number, headers: Readonly<Record<string, string>>) => void
}

type Start = (request: Request) => ServerSpan

/** For requests that are not traced. */
export const none: Start = () => ({ end: () => {} })

export const make: Effect.Effect<Start> = Effect.gen(function* () {
  const tracer = yield* Effect.tracer
  const clock = yield* Effect.clock
  const redacted = yield* FiberRef.get(PlatformHeaders.currentRedactedNames)

  return (request) => {
    const headers = PlatformHeaders.fromInput(request.headers)
    const span = tracer.span(
      `http.server ${request.method}`,
      HttpTraceContext.fromHeaders(headers),
      Context.empty(),
      [],
      clock.unsafeCurrentTimeNanos(),
      "server",
    )
    const add = (prefix: string, headers: PlatformHeaders.Headers) => {
      for (const [name, value] of Object.entries(PlatformHeaders.redact(headers, redacted))) {
        span.attribute(`${prefix}.${name}`, String(value))
      }
    }
    span.attribute("http.request.method", request.method)
    span.attribute("http.route", request.url)
    span.attribute("url.path", request.url)
    add("http.request.header", headers)
    return {
      end: (status, answered) => {
        span.attribute("http.response.status_code", status)
        add("http.response.header", PlatformHeaders.fromInput(answered))
        span.end(clock.unsafeCurrentTimeNanos(), Exit.void)
      },
    }
  }
})
