/** A TCP proxy between the program and PostgreSQL, which simulates network failures. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Relay from "./relay.ts"

/**
 * How a COMMIT fails. "answer lost": the connection breaks after the server has received the
 * COMMIT. "request lost": the connection breaks before the server receives the COMMIT. "silence":
 * the connection stays open, but the server's answer to the COMMIT is dropped.
 */
export type Fate = "answer lost" | "request lost" | "silence"

export type Proxy = Effect.Effect.Success<ReturnType<typeof make>>

/** Makes a proxy to this database. Closing the scope stops it. */
export const make = (database: Redacted.Redacted) =>
  Effect.gen(function* () {
    const url = new URL(Redacted.value(database))
    let server = url
    let fate: Fate | undefined
    let [commits, interval] = [0, Number.POSITIVE_INFINITY]
    let isDown = false
    let isSilent = false
    let isLast = false

    const onLine = (line: Relay.Line) => {
      let mine: Fate | undefined
      line.client.on("data", (bytes) => {
        if (isSilent) return
        if (bytes.includes("COMMIT\0")) {
          if (++commits % interval === 0) mine = "answer lost"
          if (fate !== undefined) {
            mine = fate
            fate = undefined
            isDown ||= isLast
          }
        }
        if (mine === "request lost") Relay.cut(line)
        else line.server.write(bytes)
      })
      line.server.on("data", (bytes) => {
        if (mine === "answer lost") Relay.cut(line)
        else if (mine === undefined && !isSilent) line.client.write(bytes)
      })
    }
    const relay = yield* Effect.acquireRelease(
      Effect.promise(() => Relay.start(url, onLine, () => (isDown ? undefined : server))),
      ({ stop }) => Effect.promise(stop),
    )
    const cut = () => relay.lines.forEach(Relay.cut)

    return {
      url: Redacted.make(relay.url),
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
        if (down) cut()
      },
      /**
       * Forwards each new connection to the server at this URL. Open connections stay connected to
       * their server.
       */
      turnTo: (next: string) => void (server = new URL(next)),
      cut,
      /**
       * True: discards all data on all connections, but keeps the connections open. False: forwards
       * new data again. The discarded data stays lost.
       */
      setSilent: (silent: boolean) => void (isSilent = silent),
      lines: () => relay.lines.size,
    }
  })
