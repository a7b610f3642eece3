/**
 * One HTTP exchange: a request goes out, the whole answer comes back as text. It runs on Node's own
 * client, which keeps connections open and follows no redirect: a redirect would take the secret
 * along. Effect's HttpClient over `fetch` takes some six times the CPU for the same exchange.
 */
import * as Http from "node:http"
import * as Https from "node:https"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

export interface Request {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A request with a body is a POST, one without is a GET. */
  readonly body?: string | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
}

/** There was no whole answer. `cause` may quote a header that it complains of. */
export class Broken extends Data.TaggedError("Broken")<{ readonly cause: unknown }> {}

/** The answer has more than `maxAnswerBytes`. */
export class TooLarge extends Data.TaggedError("TooLarge") {}

/** The largest answer that is read: some twenty times what 50 targets take. */
export const maxAnswerBytes = 2 * 1024 * 1024

/** Any status is an answer. Interruption closes the connection. */
export const send = ({ body, headers, url }: Request): Effect.Effect<Answer, Broken | TooLarge> =>
  Effect.async((resume) => {
    let received: Http.IncomingMessage | undefined

    // Noise after a whole answer is no fault of the answer.
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
        if (size <= maxAnswerBytes) return
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
