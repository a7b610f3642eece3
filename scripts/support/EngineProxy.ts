/**
 * A proxy in front of PostgreSQL that imitates a distributed engine, such as CockroachDB or
 * YugabyteDB. It refuses the statements that those engines refuse, and makes other statements and
 * COMMITs fail with error 40001 at random. It reads the messages of PostgreSQL's protocol, version
 * 3. Each error comes from the server, which runs a statement that raises it, so the state of the
 * transaction is what a client expects.
 */
import * as Relay from "./relay.ts"

export interface Options {
  /** The server's URL, with or without a database. */
  readonly server: string
  /** The share of statements and COMMITs that fail with 40001, from 0 to 1. */
  readonly conflicts: number
  /**
   * For how many milliseconds after a conflict the same database has no other one. It has none
   * before its next COMMIT either, so that the next attempt succeeds. Tests whose clock stands
   * still need this, because they never sleep. Default: conflicts can happen at any time.
   */
  readonly calmMs?: number
}

interface EngineProxy {
  /** The URL that reaches the server through the proxy. */
  readonly url: string
  /** The statements that were refused. */
  readonly refused: () => ReadonlyArray<string>
  /** How many statements failed with 40001. */
  readonly conflicts: () => number
  /** Breaks all connections and stops. */
  readonly stop: () => Promise<void>
}

/** Starts a proxy on a free port of 127.0.0.1. */
export const start = async (options: Options): Promise<EngineProxy> => {
  const refused: Array<string> = []
  const calms = new Map<string, { readonly until: number; hasCommitted: boolean }>()
  let conflicts = 0

  const hasConflict = (text: string, database: string) => {
    const calm = calms.get(database)
    const now = performance.now()
    const isCalm = calm !== undefined && (now < calm.until || !calm.hasCommitted)
    if (calm !== undefined && text === "COMMIT") calm.hasCommitted = true
    if (isCalm || isExempt.test(text) || Math.random() >= options.conflicts) return false
    const { calmMs } = options
    if (calmMs !== undefined) calms.set(database, { until: now + calmMs, hasCommitted: false })
    return true
  }

  /** Returns the statement that the server gets in place of this one. */
  const judge = (text: string, database: string) => {
    if (isRefused.test(text)) {
      refused.push(text)
      return raising("0A000", "this engine does not support the statement")
    }
    if (hasConflict(text, database)) {
      conflicts++
      return raising("40001", "restart transaction: the engine asks the client to start again")
    }
    return text
  }

  const relay = await Relay.start(new URL(options.server), ({ client, server }) => {
    const translate = translator(judge)
    client.on("data", (bytes: Buffer) => {
      const { toClient, toServer } = translate(bytes)
      if (toClient.length > 0) client.write(toClient)
      if (toServer.length > 0) server.write(toServer)
    })
    server.on("data", (bytes: Buffer) => void client.write(bytes))
  })
  return {
    url: relay.url,
    refused: () => refused,
    conflicts: () => conflicts,
    stop: relay.stop,
  }
}

/** Whether CockroachDB or YugabyteDB, with default settings, refuses or ignores the statement. */
const isRefused =
  /\bLOCK\s+TABLE\b|^\s*(UN)?LISTEN\b|^\s*NOTIFY\b|\bpg_(try_)?advisory_|\bCREATE\s+((LOCAL|GLOBAL)\s+)?TEMP(ORARY)?\b/i

/**
 * Statements that never fail with 40001: the end of a failed transaction, questions about the
 * engine, and savepoints, which the service does not use.
 */
const isExempt = /^\s*(ROLLBACK|SAVEPOINT|SHOW\b|SELECT pg_is_in_recovery)|\bpg_locks\b/i

const raising = (code: string, message: string) =>
  `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = '${message}'; END $$`

const sslRequest = 80877103

const isSimple = (text: string) => text.startsWith("DO $$ BEGIN RAISE EXCEPTION")

/**
 * Returns a function that takes the client's bytes, and returns what to send to the server and to
 * the client. `judge` returns the statement to run in place of the client's.
 */
const translator = (judge: (text: string, database: string) => string) => {
  let database = ""
  let pending: Buffer = Buffer.alloc(0)
  let hasStarted = false
  /** The error of a refused statement, for the Sync that ends its series of messages. */
  let error: string | undefined

  const message = (type: string, body: Buffer): Buffer => {
    if (error !== undefined && type !== "S") return Buffer.alloc(0)
    switch (type) {
      case "Q":
        return encode("Q", cString(judge(textAt(body, 0), database)))
      case "P": {
        const name = textAt(body, 0)
        const nameEnd = Buffer.byteLength(name) + 1
        const text = textAt(body, nameEnd)
        const judged = judge(text, database)
        if (isSimple(judged)) {
          error = judged
          return Buffer.alloc(0)
        }
        const rest = body.subarray(nameEnd + Buffer.byteLength(text) + 1)
        return encode("P", Buffer.concat([cString(name), cString(judged), rest]))
      }
      case "S": {
        const raised = error
        error = undefined
        return raised === undefined ? encode("S", body) : encode("Q", cString(raised))
      }
      default:
        return encode(type, body)
    }
  }

  return (bytes: Buffer) => {
    pending = Buffer.concat([pending, bytes])
    const toServer: Array<Buffer> = []
    let toClient = ""
    for (;;) {
      // The first message of a connection has no type.
      const typeLength = hasStarted ? 1 : 0
      if (pending.length < typeLength + 4) break
      const end = typeLength + pending.readInt32BE(typeLength)
      if (pending.length < end) break
      const whole = pending.subarray(0, end)
      pending = pending.subarray(end)
      if (hasStarted) toServer.push(message(whole.toString("latin1", 0, 1), whole.subarray(5)))
      else if (whole.readInt32BE(4) === sslRequest) toClient += "N"
      else {
        hasStarted = true
        database = /\0database\0([^\0]*)/.exec(whole.toString("utf8"))?.[1] ?? ""
        toServer.push(whole)
      }
    }
    return { toClient, toServer: Buffer.concat(toServer) }
  }
}

const encode = (type: string, body: Buffer) => {
  const head = Buffer.alloc(5)
  head.write(type, "latin1")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const cString = (text: string) => Buffer.from(`${text}\0`)

const textAt = (body: Buffer, from: number) => body.toString("utf8", from, body.indexOf(0, from))
