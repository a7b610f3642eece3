/**
 * Sends one HTTP request and reads the whole response as text. Uses Node's own client, which keeps
 * connections open (keep-alive) and does not follow redirects: a redirect would send the secret
 * headers to another address. Effect's HttpClient over `fetch` takes about six times the CPU time.
 */
import { once } from "node:events"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

export interface HttpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
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

export class TooLarge extends Data.TaggedError("TooLarge") {}

/** Maximum size of a response body: about twenty times the size of an answer for 50 targets. */
export const maxResponseBytes = 2 * 1024 * 1024

/** Sends a request. Succeeds with any HTTP status. Interruption closes the connection. */
export type Send = (request: HttpRequest) => Effect.Effect<HttpResponse, Broken | TooLarge>

/** Sends the requests to vendors over HTTP by default. A simulation provides another `send`. */
export class Exchange extends Context.Reference<Exchange>()("authority/providers/Exchange", {
  defaultValue: (): { readonly send: Send } => ({ send: overHttp }),
}) {}

const overHttp: Send = (request) =>
  Effect.tryPromise({
    try: (signal) => exchange(request, signal),
    catch: (cause) => (cause instanceof TooLarge ? cause : new Broken({ cause })),
  })

const exchange = async ({ body, headers, url }: HttpRequest, signal: AbortSignal) => {
  const { request } = url.startsWith("https:") ? Https : Http
  const asking = request(url, { method: body === undefined ? "GET" : "POST", headers, signal })
  // The connection may fail again after the failure or the response that has been returned.
  asking.on("error", () => {})
  asking.end(body)
  const response: Http.IncomingMessage = (await once(asking, "response"))[0]
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    size += chunk.length
    if (size > maxResponseBytes) throw new TooLarge()
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks).toString(),
  }
}
