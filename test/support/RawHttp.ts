/** HTTP without a client library, so that a test controls every header and every byte. */
import * as Http from "node:http"
import * as Net from "node:net"
import * as Effect from "effect/Effect"
import { eventually } from "./eventually.ts"

export interface Request {
  readonly method?: string
  readonly path?: string
  readonly headers?: Http.OutgoingHttpHeaders
  /** The request body. If it is a list, its pieces are sent one after another. */
  readonly body?: Piece | ReadonlyArray<Piece>
  /** The agent that reuses connections. Without an agent, each request has its own connection. */
  readonly agent?: Http.Agent
}

type Piece = string | Uint8Array

export interface Answer {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly text: string
}

/** Sends one request. Interruption closes the connection. */
export const request = (
  base: string,
  { agent, body, headers = {}, method = "GET", path = "/" }: Request = {},
): Effect.Effect<Answer, Error> =>
  Effect.async<Answer, Error>((resume) => {
    const { hostname: host, port } = new URL(base)
    const outgoing = Http.request(
      // Pass the path separately and unchanged, because `new URL` would normalise the path.
      { host, port, path, agent: agent ?? false, method, headers },
      (incoming) => {
        const chunks: Array<Buffer> = []
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
        incoming.on("error", (error) => resume(Effect.fail(error)))
        incoming.on("end", () => {
          const text = Buffer.concat(chunks).toString()
          resume(
            Effect.succeed({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }),
          )
        })
      },
    )
    outgoing.on("error", (error) => resume(Effect.fail(error)))
    if (headers["expect"] === "100-continue") {
      outgoing.on("continue", () => sendBody(outgoing, body)).flushHeaders()
    } else {
      sendBody(outgoing, body)
    }
    return Effect.sync(() => outgoing.destroy())
  })

const sendBody = (outgoing: Http.ClientRequest, body: Request["body"]) => {
  if (typeof body === "object" && !(body instanceof Uint8Array)) sendPieces(outgoing, body)
  else outgoing.end(body)
}

/**
 * Sends the pieces in separate turns of the event loop, so that a server in this process receives
 * them separately.
 */
const sendPieces = (outgoing: Http.ClientRequest, pieces: ReadonlyArray<Piece>) => {
  const [piece, ...rest] = pieces
  if (piece === undefined) outgoing.end()
  else outgoing.write(piece, () => setImmediate(sendPieces, outgoing, rest))
}

/** Returns the text of a request as it is sent. */
export const wire = (line: string, headers: Readonly<Record<string, string>>, body = "") =>
  [
    `${line} HTTP/1.1`,
    ...Object.entries({ host: "localhost", ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    "",
    body,
  ].join("\r\n")

/** Returns the status codes in the bytes that a connection received. */
export const statusesIn = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

/** A connection for raw bytes. Closing the scope closes it. */
export interface Connection {
  readonly send: (text: string | Uint8Array) => void
  /** Sends bytes, and waits until a server in the same process has had time to read the bytes. */
  readonly sendOut: (text: string | Uint8Array) => Effect.Effect<void>
  readonly hangUp: () => void
  /** Stops reading, so that the answer fills the network buffers. */
  readonly stopReading: () => void
  /** Returns the number of bytes that were sent or are queued for sending. */
  readonly sent: () => number
  /** Returns the received bytes so far, as latin1 text. */
  readonly received: () => string
  readonly isClosed: () => boolean
}

/**
 * Opens a raw connection. With `closes`, the client closes its side when the server has closed its
 * own side.
 */
export const connect = (base: string, { closes = true }: { readonly closes?: boolean } = {}) =>
  Effect.acquireRelease(
    Effect.async<Connection & { readonly socket: Net.Socket }, Error>((resume) => {
      const { hostname, port } = new URL(base)
      let text = ""
      let closed = false
      const options = { port: Number(port), host: hostname, allowHalfOpen: !closes }
      const socket = Net.connect(options, () =>
        resume(
          Effect.succeed({
            socket,
            send: (bytes) => void socket.write(bytes),
            sendOut: (bytes) =>
              Effect.async((resume) => {
                socket.write(bytes, () => setImmediate(resume, Effect.void))
              }),
            hangUp: () => void socket.destroy(),
            stopReading: () => void socket.pause(),
            sent: () => socket.bytesWritten,
            received: () => text,
            isClosed: () => closed,
          }),
        ),
      )
      socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")))
      socket.on("close", () => (closed = true))
      socket.on("error", (error) => {
        closed = true
        resume(Effect.fail(error))
      })
    }),
    ({ socket }) => Effect.sync(() => socket.destroy()),
  )

/** Sends bytes on a raw connection. Returns the answer when the server closes the connection. */
export const exchange = (base: string, bytes: string | Uint8Array) =>
  Effect.gen(function* () {
    const connection = yield* connect(base)
    connection.send(bytes)
    yield* eventually("the server closes the connection", connection.isClosed)
    return connection.received()
  }).pipe(Effect.scoped)
