/** Node's HTTP server: its limits, its answer to invalid HTTP, and how it starts and stops. */
import * as Http from "node:http"
import * as Net from "node:net"
import type { Duplex } from "node:stream"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import { errorBody } from "../contract/Envelope.ts"

export interface Options {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** The prefix of the settings for host and port. Default: `AUTHORITY`. */
  readonly settingPrefix?: string
  /** Further connections are refused at once. */
  readonly maxConnections: number
  /** Replaces some of `defaultLimits` in tests. */
  readonly limits?: Partial<Limits>
}

/** The limits of one connection, in milliseconds. */
export const defaultLimits = {
  /** How long a request's headers may take, from its first byte or the connection's start. */
  headersMs: 15_000,
  /** How long a request's headers and body together may take. */
  requestMs: 60_000,
  /** How long a connection may stay idle, between requests or with an unread answer. */
  idleMs: 60_000,
  /** How long a connection stays open after an early error, so that the client can read it. */
  refusedMs: 1000,
}

export type Limits = typeof defaultLimits

export class CannotListen extends Data.TaggedError("CannotListen")<{
  readonly message: string
}> {}

export class Listener extends Context.Tag("authority/http/Listener")<
  Listener,
  {
    readonly server: Http.Server
    /** Throws when the server is not listening yet. */
    readonly address: () => { readonly port: number; readonly url: string }
    /** True once a shutdown has begun. */
    readonly isDraining: () => boolean
    /**
     * Waits until all connections are closed. Idle ones are closed soon, after any request that is
     * already on its way.
     */
    readonly drain: Effect.Effect<void>
  }
>() {}

export const make = (options: Pick<Options, "maxConnections" | "limits">): Listener["Type"] => {
  const limits = { ...defaultLimits, ...options.limits }
  const server = Http.createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    // How often Node looks for connections that exceed these two limits, in milliseconds.
    connectionsCheckingInterval: 1000,
    maxHeaderSize: 16 * 1024,
    // `HeaderCheck` checks the header instead, and answers in the envelope.
    requireHostHeader: false,
  })
  server.maxConnections = options.maxConnections
  server.timeout = limits.idleMs
  server.on("request", (request, response) => {
    // Once the headers are sent, an idle client is not reading the answer. Before, it is waiting.
    response.on("timeout", (socket) => {
      if (response.headersSent) socket.destroy()
    })
    // If the connection closed at once, the client could lose the answer.
    response.on("finish", () => {
      if (request.complete) return
      setTimeout(() => request.complete || request.destroy(), limits.refusedMs).unref()
    })
  })
  // Node would answer 417 to any `Expect` other than `100-continue`. We ignore the header instead.
  server.on("checkExpectation", (request, response) => {
    server.emit("request", request, response)
  })
  server.on("clientError", refuse(limits.refusedMs))
  let isDraining = false
  return {
    server,
    address: () => addressOf(server),
    isDraining: () => isDraining,
    drain: Effect.gen(function* () {
      isDraining = true
      const closeIdle = Effect.sync(() => server.closeIdleConnections())
      const closing = yield* Effect.forkDaemon(
        Effect.interruptible(Effect.schedule(closeIdle, Schedule.spaced("100 millis"))),
      )
      // `Http.Server.close` would close idle connections at once.
      yield* Effect.async<void>((resume) => {
        Net.Server.prototype.close.call(server, () => resume(Effect.void))
      })
      yield* Fiber.interrupt(closing)
    }),
  }
}

// Answers on the socket, because Node makes no request object for invalid HTTP.
const refuse = (refusedMs: number) => (error: Error, socket: Duplex) => {
  if (!socket.writable) return
  socket.end(refusalOf(error))
  setTimeout(() => socket.destroy(), refusedMs).unref()
}

const refusals: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "The headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "The request took too long to arrive."],
}

const refusalOf = (error: Error) => {
  const code = Predicate.hasProperty(error, "code") ? String(error.code) : ""
  const [status, message] = refusals[code] ?? [
    "400 Bad Request",
    "This is not a valid HTTP request.",
  ]
  const body = JSON.stringify(errorBody(message))
  return (
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n` +
    `Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

const addressOf = (server: Http.Server) => {
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("it does not listen")
  const { address: host, family, port } = address
  return { port, url: `http://${family === "IPv6" ? `[${host}]` : host}:${port}` }
}

/** Listens until the scope ends. Attach the request handler before this effect runs. */
export const listen = (
  { server }: Pick<Listener["Type"], "server">,
  options: Pick<Options, "host" | "port" | "settingPrefix">,
) =>
  NodeHttpServer.make(() => server, { host: options.host, port: options.port }).pipe(
    Effect.mapError(({ cause }) => cannotListen(options, cause)),
  )

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
