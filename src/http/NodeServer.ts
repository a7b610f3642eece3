/**
 * The Node HTTP server: its limits, its answer to invalid HTTP, and how it closes connections. On
 * shutdown it drains: it finishes every request that it has accepted.
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
import { errorBody } from "../contract/Envelope.ts"
import { Request } from "./Request.ts"

export interface Options {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** How the names of the settings of host and port begin. Default: `AUTHORITY`. */
  readonly settingPrefix?: string
  /** The maximum number of open connections. Further connections are refused at once. */
  readonly maxConnections: number
  /** Overrides of `defaultLimits`, for tests. */
  readonly limits?: Partial<Limits>
}

/** The limits of one connection. Times are in milliseconds. */
export interface Limits {
  /**
   * The time limit for receiving a request's headers. It starts when the connection opens; for a
   * later request on the connection, it starts with that request's first byte.
   */
  readonly headersMs: number
  /**
   * The time limit for receiving a request's headers and body. It starts at the same time as the
   * limit `headersMs`, and must not be shorter than `headersMs`.
   */
  readonly requestMs: number
  /**
   * The maximum time without traffic, between two requests or while a client does not read its
   * answer.
   */
  readonly idleMs: number
  /** How long a refused connection stays open, so that its client can read the error. */
  readonly refusedMs: number
  /**
   * If the server answers before the whole body has arrived, it discards the rest of the body for
   * at most this time. A connection that closes at once could lose the answer.
   */
  readonly discardMs: number
  /**
   * When the server has discarded more than this many bytes that a client sent after an early
   * answer or an error, it destroys the connection.
   */
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

/** The server cannot listen on the address. `message` says what to do. */
export class CannotListen extends Data.TaggedError("CannotListen")<{
  readonly message: string
}> {}

/**
 * Provides the HTTP server to the layers that attach handlers to it, report its state or drain it.
 */
export class Listener extends Context.Tag("authority/http/Listener")<
  Listener,
  {
    readonly server: Http.Server
    /** The address that the server listens on. Throws when the server does not listen yet. */
    readonly address: () => { readonly port: number; readonly url: string }
    /** True once a shutdown has begun. */
    readonly isDraining: () => boolean
    /** After this call, each answer has the header `Connection: close`. */
    readonly startDraining: () => void
    /**
     * True when the connection closes after its current answer. A further request on this
     * connection gets no answer.
     */
    readonly isEnding: (socket: Net.Socket) => boolean
  }
>() {}

/** Makes a server that does not listen yet. */
export const make = (options: Pick<Options, "maxConnections" | "limits">): Listener["Type"] => {
  const limits = { ...defaultLimits, ...options.limits }
  let isDraining = false
  const endings = makeEndings(limits)
  // Each response checks in `writeHead` whether its connection must close. The alternative, a `Set`
  // of all open responses that a shutdown goes through, would cost memory: V8 could keep deleted
  // entries until a major garbage collection.
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
    // The interval, in milliseconds, at which Node looks for connections that exceed
    // `headersTimeout` or `requestTimeout`.
    connectionsCheckingInterval: 1000,
    maxHeaderSize: 16 * 1024,
    requireHostHeader: false,
  })
  server.maxConnections = options.maxConnections
  server.timeout = limits.idleMs
  // Node would answer 417 to any `Expect` other than `100-continue`. We ignore the header.
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

// Node calls this function when a connection had no traffic for `idleMs`. Destroys the connection
// if the answer's headers are sent, because then the client does not read the answer.
function destroyUnread(this: Http.ServerResponse, socket: Net.Socket) {
  if (this.headersSent) socket.destroy()
}

// Closes connections whose client still sends data. If the server destroyed the connection at once,
// the client could lose the answer. So the server only stops sending and discards the client's
// data. It destroys the connection after `discardMs` or `refusedMs`, or after `discardBytes`.
const makeEndings = ({ discardBytes, discardMs, refusedMs }: Limits) => {
  /** For each closing connection, the number of bytes received before the closing began. */
  const endings = new WeakMap<Net.Socket, number>()

  const begin = (socket: Net.Socket) => endings.set(socket, socket.bytesRead)

  const halfClose = (socket: Net.Socket, ms: number, lastWords = "") => {
    socket.end(lastWords)
    setTimeout(() => socket.destroy(), ms).unref()
  }

  const destroyIfFlooded = (socket: Net.Socket) => {
    if (socket.bytesRead - (endings.get(socket) ?? 0) > discardBytes) socket.destroy()
  }

  const afterAnswer = (request: Request) => {
    const { socket } = request
    begin(socket)
    // Read and discard the rest of the request's body, and destroy the connection when the client
    // sends more than `discardBytes`. Node itself would discard the rest without a limit.
    request.on("data", () => {
      destroyIfFlooded(socket)
      request.readInTurn()
    })
    request.resume()
    // Node calls `destroySoon` after it has sent an answer with `Connection: close`. Stop sending
    // instead of destroying the connection, so that the client can read the answer.
    socket.destroySoon = () => halfClose(socket, discardMs)
  }

  /** Answers invalid HTTP directly on the socket, because Node makes no request object for it. */
  const refuse = (error: Error, socket: Duplex) => {
    if (!(socket instanceof Net.Socket)) socket.destroy(error)
    // The connection is already closing, and each further chunk from the client causes another
    // error. Destroy the connection when the client has sent more than `discardBytes`.
    else if (endings.has(socket)) destroyIfFlooded(socket)
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

/** Listens until the scope ends. Attach the request handler before this effect runs. */
export const listen = (
  options: Pick<Options, "host" | "port" | "settingPrefix">,
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
 * Drains the server when the scope ends: waits until all connections are closed and `running()`,
 * the number of requests in flight, is 0. After `timeout`, calls `cutOff`, which interrupts requests
 * whose connection is closed, closes the remaining connections, and waits at most `cutOffGraceMs`.
 */
export const drain = (
  timeout: Duration.DurationInput,
  running: () => number,
  cutOff: () => void,
): Effect.Effect<void, never, Listener | Scope.Scope> =>
  Effect.flatMap(Listener, ({ server, startDraining }) =>
    Effect.addFinalizer(() =>
      Effect.zipRight(
        Effect.sync(startDraining),
        stop(server, Duration.toMillis(timeout), running, cutOff),
      ),
    ),
  )

const stop = (server: Http.Server, timeoutMs: number, running: () => number, cutOff: () => void) =>
  // `Effect.race` does not work here: a finalizer is uninterruptible, so the losing effect of the
  // race would never end.
  Effect.async<void>((resume) => {
    let isCutOff = false
    // Close idle connections every 100 ms, but not at once, so that requests that are already on
    // the wire are answered.
    const closeIdle = setInterval(() => server.closeIdleConnections(), 100)
    const closeAll = setTimeout(() => {
      cutOff()
      server.closeAllConnections()
      setTimeout(() => (isCutOff = true), cutOffGraceMs).unref()
    }, timeoutMs)
    // `Http.Server.close` would close idle connections at once and reset requests on the wire.
    Net.Server.prototype.close.call(server, () => {
      clearInterval(closeIdle)
      // A request can still run after its connection was closed. It must release its hold before
      // the stores close.
      const wait = () => {
        if (running() > 0 && !isCutOff) setTimeout(wait, 10)
        else {
          clearTimeout(closeAll)
          resume(Effect.void)
        }
      }
      wait()
    })
  })

/** Maximum time, in milliseconds, for cleaning up requests that the shutdown timeout cut off. */
const cutOffGraceMs = 1000

// Returns the raw HTTP response to a request that is invalid, has too large headers or is too slow.
const refusalOf = (error: Error) => {
  const code = Predicate.hasProperty(error, "code") ? error.code : undefined
  const [status, message] =
    code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "The headers are too large."]
      : code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "The request took too long to arrive."]
        : ["400 Bad Request", "This is not a valid HTTP request."]
  const body = JSON.stringify(errorBody(message))
  return (
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n` +
    `Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

const cannotListen = (
  { host, port, settingPrefix = "AUTHORITY" }: Pick<Options, "host" | "port" | "settingPrefix">,
  cause: unknown,
) => {
  const code = Predicate.hasProperty(cause, "code") ? String(cause.code) : String(cause)
  const advice =
    code === "EADDRINUSE"
      ? `another program uses this port; stop that program, or set ${settingPrefix}_PORT to another port (0 picks a free port)`
      : code === "EACCES"
        ? `this user has no right to use the port; set ${settingPrefix}_PORT to a port above 1023`
        : code === "EADDRNOTAVAIL" || code === "ENOTFOUND"
          ? `this machine has no such address; set ${settingPrefix}_HOST to an address of this machine`
          : `${code}; check ${settingPrefix}_HOST and ${settingPrefix}_PORT`
  return new CannotListen({ message: `cannot listen on ${host}:${port}: ${advice}` })
}
