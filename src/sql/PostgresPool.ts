/** The driver's connection pool for one PostgreSQL server. */
import { Socket } from "node:net"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Pg from "pg"
import pgpass from "pgpass"
import type { ConnectionString } from "./ConnectionString.ts"
import * as Failure from "./Failure.ts"

export interface Options {
  readonly target: ConnectionString
  readonly maxConnections: number
  /** A connection without traffic for this long is closed. */
  readonly silenceMs: number
  /** True to use only a server that can be written to. */
  readonly mustWrite: boolean
  readonly types: Pg.CustomTypesConfig
}

/** An idle connection is closed after this time, so that another process can connect. */
const idleMs = 3_000

/**
 * Makes a pool. It opens no connection until a caller asks for one. Closing the scope closes all
 * connections.
 */
export const make = (options: Options): Effect.Effect<Pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => open(options)),
    (pool) =>
      Effect.promise(() => pool.end()).pipe(Effect.interruptible, Effect.timeoutOption("1 second")),
  )

const open = (options: Options): Pg.Pool => {
  const { maxConnections, mustWrite, silenceMs, target, types } = options
  const pool = new Pg.Pool({
    ...target,
    password: () => passwordFor(target),
    sslnegotiation: "postgres",
    max: maxConnections,
    idleTimeoutMillis: idleMs,
    types,
    stream: () => socketWithTimeout(silenceMs),
    onConnect: mustWrite ? examine : undefined,
  })
  pool.on("connect", (client) => {
    if (!(client instanceof Pg.Client)) return
    // A server that became read-only does not close the connection. An ended client leaves the pool.
    client.connection.prependListener("errorMessage", (error: unknown) => {
      if (Failure.isDisconnection(error) || Failure.isStatementPooling(error)) void client.end()
    })
  })
  // Without a listener, the event "error" would throw. The pool has already removed the connection.
  pool.on("error", () => {})
  return pool
}

/** The driver's own use of pgpass prints a warning that it is deprecated. */
const passwordFor = async (target: ConnectionString) => {
  if (target.password !== undefined) return Redacted.value(target.password)
  const found = await new Promise<string | undefined>((resolve) => pgpass(target, resolve))
  if (found === undefined) throw new Error(`${target.user} has no password`)
  return found
}

const examine = async (client: Pg.ClientBase) => {
  if ((await ask(client, "SHOW transaction_read_only")) !== "on") return
  const isStandby = await ask(client, "SELECT pg_is_in_recovery()::text")
  const reason =
    isStandby === "true" ? "the server is a standby" : "default_transaction_read_only is on"
  throw Object.assign(new Error(reason), { code: "25006" })
}

const ask = async (client: Pg.ClientBase, question: string) =>
  decodeAnswer((await client.query({ text: question, rowMode: "array" })).rows)[0][0]

const decodeAnswer = Schema.decodeUnknownSync(Schema.Tuple(Schema.Tuple(Schema.String)))

// Closes the connection after `silenceMs` without data. Otherwise, a dead network would cause no
// error for about 15 minutes. The driver's own query timeout is not safe: the driver would send the
// next query on the same connection, where the late answer could arrive.
const socketWithTimeout = (silenceMs: number) => {
  const socket = new Socket()
  return socket.setTimeout(silenceMs, () => {
    const error = new Error(`no answer for ${silenceMs} ms`)
    socket.destroy(Object.assign(error, { code: "ETIMEDOUT" }))
  })
}
