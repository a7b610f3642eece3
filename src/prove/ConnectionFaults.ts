/**
 * Faults of the connections to a database, made in this process: the answer to a COMMIT gets lost,
 * or the COMMIT is sent late.
 */
import type { Duplex } from "node:stream"

export type ConnectionFaults = ReturnType<typeof make>

/** A COMMIT that is kept back. */
export interface LateCommit {
  /** Resolves when a COMMIT arrives. */
  readonly arrived: Promise<void>
  /** Sends the COMMIT. */
  readonly send: () => void
}

/** Makes the faults of any number of connections. Without further calls, no fault happens. */
export const make = () => {
  let [commits, interval, lost] = [0, Number.POSITIVE_INFINITY, 0]
  let keepBack: ((send: () => void) => void) | undefined

  // The server has decided about the COMMIT when its answer arrives. The driver never reads it.
  const loseAnswer = (stream: Duplex) =>
    stream.removeAllListeners("data").once("data", () => {
      lost++
      stream.destroy(Object.assign(new Error("the answer got lost"), { code: "ECONNRESET" }))
    })

  return {
    /** Takes part in a connection. The stream carries the protocol of PostgreSQL in plain text. */
    attach: (stream: Duplex) => {
      const send = stream.write.bind(stream)
      const write = (...message: Parameters<typeof send>) => {
        if (!Buffer.from(message[0]).includes("COMMIT\0")) return send(...message)
        if (++commits % interval === 0) loseAnswer(stream)
        if (keepBack === undefined) return send(...message)
        keepBack(() => void send(...message))
        keepBack = undefined
        return true
      }
      Object.assign(stream, { write })
    },
    /** Breaks the connection in place of the answer to the next COMMIT, and to each `every`-th one. */
    loseAnswers: (every: number) => {
      commits = -1
      interval = every
    },
    /** How many answers got lost. */
    lost: () => lost,
    /** Keeps the next COMMIT back. */
    keepNextCommit: (): LateCommit => {
      const { promise, resolve } = Promise.withResolvers<() => void>()
      keepBack = resolve
      return {
        arrived: promise.then(() => {}),
        send: () => {
          keepBack = undefined
          void promise.then((send) => send())
        },
      }
    },
  }
}
