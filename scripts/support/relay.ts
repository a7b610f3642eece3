/** Relays TCP connections to a server, for proxies that look into what they relay. */
import * as Net from "node:net"
import { listenOnFreePort } from "../free-port.ts"

export interface Line {
  readonly client: Net.Socket
  readonly server: Net.Socket
}

export const cut = ({ client, server }: Line) => {
  client.destroy()
  server.destroy()
}

interface Relay {
  /** The URL that reaches the server through the relay. */
  readonly url: string
  readonly lines: ReadonlySet<Line>
  /** Breaks all connections and stops. */
  readonly stop: () => Promise<void>
}

/**
 * Starts a relay on a free port of 127.0.0.1. `onLine` takes over the data of both sockets. `route`
 * returns the server for a new connection, or undefined to refuse it.
 */
export const start = async (
  server: URL,
  onLine: (line: Line) => void,
  route: () => URL | undefined = () => server,
): Promise<Relay> => {
  const lines = new Set<Line>()
  const relay = Net.createServer((client) => {
    const to = route()
    if (to === undefined) return void client.destroy()
    const line = { client, server: Net.connect(Number(to.port), to.hostname) }
    lines.add(line)
    for (const socket of [line.client, line.server]) {
      socket.setNoDelay(true)
      socket.on("error", () => cut(line))
      socket.on("close", () => {
        lines.delete(line)
        cut(line)
      })
    }
    onLine(line)
  })
  const own = new URL(server)
  own.hostname = "127.0.0.1"
  own.port = String(await listenOnFreePort(relay))
  return {
    url: own.href.replace(/\/$/, ""),
    lines,
    stop: () =>
      new Promise((resolve) => {
        relay.close(() => resolve())
        lines.forEach(cut)
      }),
  }
}
