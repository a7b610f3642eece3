/** A network between the program and PostgreSQL, which fails as networks do. */
import * as Net from "node:net"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/**
 * What becomes of a COMMIT: it arrives and the answer is lost with the connection, it is lost with
 * the connection itself, or it arrives and nobody ever hears of it.
 */
export type Fate = "answer lost" | "request lost" | "silence"

interface Line {
  readonly client: Net.Socket
  readonly server: Net.Socket
}

export type Proxy = Effect.Effect.Success<ReturnType<typeof make>>

/** A way to the database of this URL; it ends with the scope. */
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
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void proxy.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.async<void>((resume) => {
          proxy.close(() => resume(Effect.void))
          lines.forEach(cut)
        }),
    )
    const address = proxy.address()
    if (address === null || typeof address === "string") return yield* Effect.dieMessage("no port")
    url.port = String(address.port)

    return {
      url: Redacted.make(url.href),
      /**
       * Of the next COMMIT; every other one arrives, and so does its answer. After the `last` one no
       * connection is accepted.
       */
      doom: (next: Fate, { last = false }: { readonly last?: boolean } = {}) => {
        fate = next
        isLast = last
      },
      /** Of every so many COMMITs one loses its answer. */
      loseAnswers: (every: number) => void (interval = every),
      /** How many COMMITs have come by. */
      commits: () => commits,
      /** Whether that COMMIT has come by. */
      isFulfilled: () => fate === undefined,
      /** Every connection breaks and no new one is accepted, or they are again. */
      setDown: (down: boolean) => {
        isDown = down
        if (down) lines.forEach(cut)
      },
      /** New connections lead to the server of this URL; those that are open stay where they are. */
      turnTo: (server: string) => {
        ;({ hostname, port } = new URL(server))
      },
      /** Breaks every connection. */
      cut: () => lines.forEach(cut),
      /** Nothing arrives any more, on the old connections or on new ones, or on new ones again. */
      setSilent: (silent: boolean) => void (isSilent = silent),
      lines: () => lines.size,
    }
  })
