/**
 * The Node server under the interface: its limits, its answer to what is no HTTP, how it ends a
 * connection early, and its own end, which drops no request that was accepted.
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
  /** Shorter ones for tests. */
  readonly limits?: Partial<Limits>
}

/** What one connection may take. Times are in milliseconds. */
export interface Limits {
  /** From the opening of the connection, or the first byte of a further request, to its headers. */
  readonly headersMs: number
  /** From there to the end of the body; at least `headersMs`. */
  readonly requestMs: number
  /** Between two requests, and for a client that reads nothing of its answer. */
  readonly idleMs: number
  /** How long a refused connection stays open, so that its client reads why. */
  readonly refusedMs: number
  /** How long the body behind an early answer is discarded, so that its sender reads the answer. */
  readonly discardMs: number
  /** How much of it is discarded. */
  readonly discardBytes: number
}

export const defaultLimits: Limits = {
  headersMs: 15_000,
  requestMs: 60_000,
  idleMs: 60_000,
  refusedMs: 1000,
  discardMs: 2000,
  discardBytes: 16 * 1024 * 1024,
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
    /** Whether a connection takes no further request, because its last answer is under way. */
    readonly isEnding: (socket: Net.Socket) => boolean
  }
>() {}

/** A server that does not listen yet. */
export const make = (options: Pick<Options, "maxConnections" | "limits">): Listener["Type"] => {
  const limits = { ...defaultLimits, ...options.limits }
  let isDraining = false
  const endings = makeEndings(limits)
  /**
   * Says of itself when its connection is to close. To be told, those in flight would have to be in
   * a `Set`. One that fills and empties all the time moves from table to table, each linked to the
   * next; once V8 takes one for old, all that was ever in the next ones is kept for long.
   */
  class Response extends Http.ServerResponse<Request> {
    constructor(...options: ConstructorParameters<typeof Http.ServerResponse<Request>>) {
      super(...options)
      this.on("timeout", destroyUnread)
    }

    override writeHead(status: number, message?: string, headers?: Headers): this
    override writeHead(status: number, headers?: Headers): this
    override writeHead(status: number, first?: string | Headers, headers?: Headers): this {
      if (isDraining) this.shouldKeepAlive = false
      if (!this.req.isWhole) {
        this.shouldKeepAlive = false
        endings.afterAnswer(this.req)
      }
      return typeof first === "string"
        ? super.writeHead(status, first, headers)
        : super.writeHead(status, first ?? headers)
    }
  }
  const server = Http.createServer({
    IncomingMessage: Request,
    ServerResponse: Response,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    // How often Node looks for who exceeds these.
    connectionsCheckingInterval: 1000,
    maxHeaderSize: 16 * 1024,
    requireHostHeader: false,
  })
  server.maxConnections = options.maxConnections
  server.timeout = limits.idleMs
  // Anything but `100-continue` is left unanswered by Node; we have nothing to expect either.
  server.on("checkExpectation", (request, response) => {
    server.emit("request", request, response)
  })
  server.on("clientError", endings.refuse)
  return {
    server,
    address: () => addressOf(server),
    isDraining: () => isDraining,
    startDraining: () => {
      isDraining = true
    },
    isEnding: endings.has,
  }
}

/** Node calls it when the connection was idle. An answer that is still being made is waited for. */
function destroyUnread(this: Http.ServerResponse, socket: Net.Socket) {
  if (this.headersSent) socket.destroy()
}

/**
 * Ends connections early. Destroying one at once would often destroy the answer before its reader
 * sees it, so the connection is half-closed and what still comes is discarded, up to a limit.
 */
const makeEndings = ({ discardBytes, discardMs, refusedMs }: Limits) => {
  /** The bytes that each ending connection had received when it began to end. */
  const endings = new WeakMap<Net.Socket, number>()

  const begin = (socket: Net.Socket) => endings.set(socket, socket.bytesRead)

  const halfClose = (socket: Net.Socket, ms: number, lastWords = "") => {
    socket.end(lastWords)
    setTimeout(() => socket.destroy(), ms).unref()
  }

  const destroyFlooded = (socket: Net.Socket) => {
    if (socket.bytesRead - (endings.get(socket) ?? 0) > discardBytes) socket.destroy()
  }

  /** Ends the connection once the answer to this request is out. */
  const afterAnswer = (request: Request) => {
    const { socket } = request
    begin(socket)
    // Before the answer is out: Node would read the rest itself then, and nobody could count it.
    request.on("data", () => destroyFlooded(socket)).resume()
    // Node calls it once an answer with `Connection: close` is out.
    socket.destroySoon = () => halfClose(socket, discardMs)
  }

  /** What cannot be parsed never becomes a request, so it is answered on the socket. */
  const refuse = (error: Error, socket: Duplex) => {
    if (!(socket instanceof Net.Socket)) socket.destroy(error)
    // The parser objects to whatever comes after its first objection.
    else if (endings.has(socket)) destroyFlooded(socket)
    else if (!socket.writable) socket.destroy(error)
    else {
      begin(socket)
      halfClose(socket, refusedMs, refusalOf(error))
    }
  }

  return { afterAnswer, refuse, has: (socket: Net.Socket) => endings.has(socket) }
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
 * and waits until the last connection is closed and no request is `running`, or the time is over.
 */
export const drain = (
  timeout: Duration.DurationInput,
  running: () => number,
): Effect.Effect<void, never, Listener | Scope.Scope> =>
  Effect.flatMap(Listener, ({ server, startDraining }) =>
    Effect.addFinalizer(() =>
      Effect.zipRight(
        Effect.sync(startDraining),
        stop(server, Duration.toMillis(timeout), running),
      ),
    ),
  )

const stop = (server: Http.Server, timeoutMs: number, running: () => number) =>
  // Without fibers: a finalizer cannot be interrupted, so in a race the loser would never end.
  Effect.async<void>((resume) => {
    const deadline = performance.now() + timeoutMs
    // Time for a request that was under way when the end came; then idle connections are closed.
    const closeIdle = setInterval(() => server.closeIdleConnections(), 100)
    const closeAll = setTimeout(() => server.closeAllConnections(), timeoutMs)
    // Node's own close would reset connections whose next request is already on its way.
    Net.Server.prototype.close.call(server, () => {
      clearInterval(closeIdle)
      clearTimeout(closeAll)
      // Requests without a client return their holds before the stores close.
      const last = Math.max(deadline, performance.now() + cutOffGraceMs)
      const wait = () => {
        if (running() === 0 || performance.now() >= last) resume(Effect.void)
        else setTimeout(wait, 10)
      }
      wait()
    })
  })

/** How long requests have that were cut off when the time was over. */
const cutOffGraceMs = 1000

/** The whole answer to what is no HTTP or came too slowly, as it is on the wire. */
const refusalOf = (error: Error) => {
  const code = Predicate.hasProperty(error, "code") ? error.code : undefined
  const [status, message] =
    code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "The headers are too large."]
      : code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "The request took too long to arrive."]
        : ["400 Bad Request", "This is not a valid HTTP request."]
  const body = JSON.stringify({ success: false, message })
  return (
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n` +
    `Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
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
