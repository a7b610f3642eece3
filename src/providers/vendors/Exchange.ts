/**
 * Sends one HTTP request and reads the whole response as text. Uses Node's own client, which keeps
 * connections open (keep-alive) and does not follow redirects: a redirect would send the secret
 * headers to another address. Effect's HttpClient over `fetch` takes about six times the CPU time.
 */
import * as Http from "node:http"
import * as Https from "node:https"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

export interface HttpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The method is POST when there is a body, otherwise GET. */
  readonly body?: string | undefined
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
}

/** No complete response arrived. `cause` may contain a header's value, so do not log it. */
export class Broken extends Data.TaggedError("Broken")<{
  readonly cause: unknown
}> {}

/** The response body is larger than `maxResponseBytes`. */
export class TooLarge extends Data.TaggedError("TooLarge") {}

/**
 * Maximum size of a response body, in bytes: about twenty times the size of an answer for 50
 * targets.
 */
export const maxResponseBytes = 2 * 1024 * 1024

/** Sends a request. Succeeds with any HTTP status. Interruption closes the connection. */
export type Send = (request: HttpRequest) => Effect.Effect<HttpResponse, Broken | TooLarge>

/** Sends the requests to vendors over HTTP by default. A simulation provides another `send`. */
export class Exchange extends Context.Reference<Exchange>()("authority/providers/Exchange", {
  defaultValue: (): { readonly send: Send } => ({ send: overHttp }),
}) {}

export const send: Send = (request) => Effect.flatMap(Exchange, ({ send }) => send(request))

const overHttp: Send = ({ body, headers, url }) =>
  Effect.async((resume) => {
    let received: Http.IncomingMessage | undefined

    // Ignore an error that occurs after the complete response has arrived.
    const fail = (cause: unknown) => {
      if (received?.complete !== true) resume(new Broken({ cause }))
    }

    const receive = (response: Http.IncomingMessage) => {
      received = response
      const chunks: Array<Buffer> = []
      let size = 0
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.byteLength
        if (size <= maxResponseBytes) return
        resume(new TooLarge())
        response.destroy()
      })
      response.on("end", () =>
        resume(
          Effect.succeed({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString("utf8"),
          }),
        ),
      )
      response.on("error", fail)
    }

    try {
      const { request } = url.startsWith("https:") ? Https : Http
      const asking = request(url, { method: body === undefined ? "GET" : "POST", headers })
      asking.on("response", receive)
      asking.on("error", fail)
      asking.end(body)
      return Effect.sync(() => asking.destroy())
    } catch (cause) {
      return fail(cause)
    }
  })
