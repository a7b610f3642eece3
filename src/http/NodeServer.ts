/**
 * The Node server under the interface: its limits, what it says to what is no HTTP, and its end,
 * which drops no request that was accepted.
 */
import * as Http from "node:http"
import * as Net from "node:net"
import type { Duplex } from "node:stream"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import { Request } from "./Request.ts"

export interface Options {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** More are refused at once. */
  readonly maxConnections: number
}

type Headers = Http.OutgoingHttpHeaders | Array<Http.OutgoingHttpHeader>

/** The address cannot be listened on; `message` says what to do. */
export class CannotListen extends Data.TaggedError("CannotListen")<{
  readonly message: string
}> {}

/** The server itself, for whoever must end it in order. */
export class Listener extends Context.Tag("authority/http/Listener")<
  Listener,
  {
    readonly server: Http.Server
    /** Where it listens, once it does. */
    readonly address: () => { readonly port: number; readonly url: string }
    /** True once the server has been told to stop. */
    readonly isDraining: () => boolean
    readonly startDraining: () => void
  }
>() {}

/** A server that does not listen yet. */
export const make = (options: Pick<Options, "maxConnections">): Listener["Type"] => {
  let isDraining = false
  /**
   * Says of itself when its connection is to close. To be told, those in flight would have to be in
   * a `Set`. One that fills and empties all the time moves from table to table, each linked to the
   * next; once V8 takes one for old, all that was ever in the next ones is kept for long.
   */
  class Response extends Http.ServerResponse<Request> {
    override writeHead(status: number, message?: string, headers?: Headers): this
    override writeHead(status: number, headers?: Headers): this
    override writeHead(status: number, first?: string | Headers, headers?: Headers): this {
      if (isDraining) this.shouldKeepAlive = false
      return typeof first === "string"
        ? super.writeHead(status, first, headers)
        : super.writeHead(status, first ?? headers)
    }
  }
  const server = Http.createServer({
    IncomingMessage: Request,
    ServerResponse: Response,
    headersTimeout: 15_000,
    requestTimeout: 60_000,
    keepAliveTimeout: 60_000,
    // How often Node looks for who exceeds these; by default so seldom that they double.
    connectionsCheckingInterval: 5000,
    maxHeaderSize: 16 * 1024,
    requireHostHeader: false,
  })
  server.maxConnections = options.maxConnections
  // Anything but `100-continue` is left unanswered by Node; we have nothing to expect either.
  server.on("checkExpectation", (request, response) => {
    server.emit("request", request, response)
  })
  server.on("clientError", refuse)
  return {
    server,
    address: () => addressOf(server),
    isDraining: () => isDraining,
    startDraining: () => {
      isDraining = true
    },
  }
}

const addressOf = (server: Http.Server) => {
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("it does not listen")
  const { address: host, family, port } = address
  return { port, url: `http://${family === "IPv6" ? `[${host}]` : host}:${port}` }
}

/** For when the server has its handler: listens, until the scope ends. */
export const listen = (
  options: Pick<Options, "host" | "port">,
): Effect.Effect<void, CannotListen, Listener | Scope.Scope> =>
  Effect.flatMap(Listener, ({ server }) =>
    Effect.acquireRelease(
      Effect.async<void, CannotListen>((resume) => {
        const fail = (cause: unknown) => resume(cannotListen(options, cause))
        server.once("error", fail)
        server.listen({ host: options.host, port: options.port }, () => {
          server.off("error", fail)
          resume(Effect.void)
        })
      }),
      () =>
        Effect.async<void>((resume) => {
          if (server.listening) server.close(() => resume(Effect.void))
          else resume(Effect.void)
        }),
    ),
  )

/**
 * When the scope ends: accepts no new connection, says on each answer that its connection closes,
 * and waits until the last one is out, or the time is over.
 */
export const drain = (
  timeout: Duration.DurationInput,
): Effect.Effect<void, never, Listener | Scope.Scope> =>
  Effect.flatMap(Listener, ({ server, startDraining }) =>
    Effect.addFinalizer(() => Effect.zipRight(Effect.sync(startDraining), stop(server, timeout))),
  )

const stop = (server: Http.Server, timeout: Duration.DurationInput) =>
  // Without fibers: a finalizer cannot be interrupted, so in a race the loser would never end.
  Effect.async<void>((resume) => {
    // Time for a request that was under way when the end came; then idle connections are closed.
    const closeIdle = setInterval(() => server.closeIdleConnections(), 100)
    let isCutOff = false
    const closeAll = setTimeout(() => {
      isCutOff = true
      server.closeAllConnections()
    }, Duration.toMillis(timeout))
    // Node's own close would reset connections whose next request is already on its way.
    Net.Server.prototype.close.call(server, () => {
      clearInterval(closeIdle)
      clearTimeout(closeAll)
      // What was cut off gets to return its holds before the stores close.
      if (isCutOff) setTimeout(() => resume(Effect.void), 200)
      else resume(Effect.void)
    })
  })

/** What cannot be parsed never becomes a request, so it is answered on the socket. */
const refuse = (error: Error, socket: Duplex) => {
  if (!socket.writable) {
    socket.destroy(error)
    return
  }
  const code = Predicate.hasProperty(error, "code") ? error.code : undefined
  const [status, message] =
    code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "The headers are too large."]
      : code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "The request took too long to arrive."]
        : ["400 Bad Request", "This is not a valid HTTP request."]
  const body = JSON.stringify({ success: false, message })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

const cannotListen = ({ host, port }: Pick<Options, "host" | "port">, cause: unknown) => {
  const code = Predicate.hasProperty(cause, "code") ? String(cause.code) : String(cause)
  const mend =
    code === "EADDRINUSE"
      ? "another program uses it: end it, or set AUTHORITY_PORT to another port, or to 0 for any"
      : code === "EACCES"
        ? "this user may not use that port: set AUTHORITY_PORT to one above 1023"
        : code === "EADDRNOTAVAIL" || code === "ENOTFOUND"
          ? "this machine has no such address: set AUTHORITY_HOST to one that it has"
          : code
  return new CannotListen({ message: `cannot listen on ${host}:${port}: ${mend}` })
}
