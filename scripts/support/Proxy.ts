/** A TCP proxy between the program and PostgreSQL, which simulates network failures. */
import * as Net from "node:net"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { listenOnFreePort } from "../free-port.ts"

/**
 * How a COMMIT fails. "answer lost": the connection breaks after the server has received the
 * COMMIT. "request lost": the connection breaks before the server receives the COMMIT. "silence":
 * the connection stays open, but the server's answer to the COMMIT is dropped.
 */
export type Fate = "answer lost" | "request lost" | "silence"

interface Line {
  readonly client: Net.Socket
  readonly server: Net.Socket
}

export type Proxy = Effect.Effect.Success<ReturnType<typeof make>>

/** Makes a proxy to this database. Closing the scope stops it. */
export const make = (database: Redacted.Redacted) =>
  Effect.gen(function* () {
    const url = new URL(Redacted.value(database))
    let { hostname, port } = url
    const lines = new Set<Line>()
    let fate: Fate | undefined
    let [commits, interval] = [0, Number.POSITIVE_INFINITY]
    let isDown = false
    let isSilent = false
    let isLast = false

    const cut = ({ client, server }: Line) => {
      client.destroy()
      server.destroy()
    }

    const proxy = Net.createServer((client) => {
      if (isDown) return void client.destroy()
      const server = Net.connect(Number(port), hostname)
      const line = { client, server }
      let mine: Fate | undefined
      lines.add(line)
      for (const socket of [client, server]) {
        socket.on("error", () => cut(line))
        socket.on("close", () => {
          lines.delete(line)
          cut(line)
        })
      }
      client.on("data", (bytes) => {
        if (isSilent) return
        if (bytes.includes("COMMIT\0")) {
          if (++commits % interval === 0) mine = "answer lost"
          if (fate !== undefined) {
            mine = fate
            fate = undefined
            isDown ||= isLast
          }
        }
        if (mine === "request lost") cut(line)
        else server.write(bytes)
      })
      server.on("data", (bytes) => {
        if (mine === "answer lost") cut(line)
        else if (mine === undefined && !isSilent) client.write(bytes)
      })
    })
    const own = yield* Effect.acquireRelease(
      Effect.promise(() => listenOnFreePort(proxy)),
      () =>
        Effect.async<void>((resume) => {
          proxy.close(() => resume(Effect.void))
          lines.forEach(cut)
        }),
    )
    url.port = String(own)

    return {
      url: Redacted.make(url.href),
      /**
       * Makes the next COMMIT fail in the given way. If `last` is true, the proxy then accepts no
       * more connections.
       */
      doom: (next: Fate, { last = false }: { readonly last?: boolean } = {}) => {
        fate = next
        isLast = last
      },
      /**
       * From now on, breaks the connection instead of forwarding the answer to every `every`-th
       * COMMIT.
       */
      loseAnswers: (every: number) => void (interval = every),
      /** Returns how many COMMITs the proxy has seen. */
      commits: () => commits,
      /**
       * Returns whether the COMMIT that `doom` makes fail has arrived at the proxy. Also returns
       * true when `doom` was never called.
       */
      isFulfilled: () => fate === undefined,
      /**
       * True: breaks all connections and accepts no new connections. False: accepts connections
       * again.
       */
      setDown: (down: boolean) => {
        isDown = down
        if (down) lines.forEach(cut)
      },
      /**
       * Forwards each new connection to the server at this URL. Open connections stay connected to
       * their server.
       */
      turnTo: (server: string) => {
        ;({ hostname, port } = new URL(server))
      },
      /** Breaks all connections. */
      cut: () => lines.forEach(cut),
      /**
       * True: discards all data on all connections, but keeps the connections open. False: forwards
       * new data again. The discarded data stays lost.
       */
      setSilent: (silent: boolean) => void (isSilent = silent),
      lines: () => lines.size,
    }
  })
