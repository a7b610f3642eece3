/** The SQL client for PostgreSQL, a database that any number of processes can share. */
import { Socket } from "node:net"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Statement from "@effect/sql/Statement"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Pg from "pg"
import pgpass from "pgpass"
import * as ConnectionString from "./ConnectionString.ts"
import * as Failure from "./Failure.ts"
import { naming } from "./rows/dialects.ts"
import * as transaction from "./transaction.ts"

export interface Options {
  /** The maximum number of open connections. Default: 4. */
  readonly connections?: number
  /**
   * Accept only a server that accepts writes, and wait this long for one. Default: accept a
   * read-only server too.
   */
  readonly primaryWithinMs?: number
  /** Close a connection and fail its statement after this time without traffic. Default: 15 s. */
  readonly silenceMs?: number
}

/**
 * Connects to the server that a connection string names. Fails with StoreFailure when the string is
 * invalid or the server cannot be used.
 */
export const layer = (url: Redacted.Redacted, options: Options = {}) =>
  Effect.gen(function* () {
    const target = yield* ConnectionString.parse(Redacted.value(url))
    const pool = Effect.sync(() => open(target, options))
    const client = yield* PgClient.fromPool({ acquire: Effect.acquireRelease(pool, close) })
    const sql = yield* SqlClient.make({
      acquirer: Effect.succeed(transaction.perStatement(bounded(client))),
      transactionAcquirer: client.reserve,
      compiler: PgClient.makeCompiler(naming.transformQueryNames),
      transformRows: Statement.defaultTransforms(naming.transformResultNames).array,
      spanAttributes: [["db.system.name", "postgresql"]],
    })
    yield* Effect.retry(sql`SELECT 1`, {
      while: (error) => Failure.isFull(error) || Failure.isReadOnly(error),
      schedule: Schedule.upTo(Schedule.spaced("250 millis"), options.primaryWithinMs ?? 10_000),
    })
    return Object.assign(sql, { withTransaction: bounded(sql) })
  }).pipe(
    Effect.catchTag("SqlError", (error) => Effect.fail(Failure.describe(error))),
    Layer.scoped(SqlClient.SqlClient),
    Layer.provide(Reactivity.layer),
  )

/**
 * Limits how long a transaction can keep accounts locked: the server ends a transaction whose
 * client sends nothing for 5 s, and cancels a statement after 10 s. Uses `SET LOCAL`, which works
 * behind a pooler. Also overrides defaults of the role on which the ledger depends: with
 * `synchronous_commit` off, a crash of the server would lose acknowledged commits.
 */
const begin = `BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL statement_timeout = '10s';
  SELECT set_config('synchronous_commit', 'on', true)
  WHERE current_setting('synchronous_commit') = 'off'`

const bounded = (sql: SqlClient.SqlClient) =>
  transaction.make(sql, begin, (each, text) => each.executeUnprepared(text, [], undefined))

const open = (
  { password, ...target }: ConnectionString.ConnectionString,
  { connections = 4, primaryWithinMs, silenceMs = 15_000 }: Options,
) => {
  const pool = new Pg.Pool({
    ...target,
    // Without its own `password`, the driver warns that its use of ~/.pgpass is deprecated.
    password:
      password ?? (() => new Promise((resolve) => pgpass(target, (found = "") => resolve(found)))),
    // Ignores PGSSLNEGOTIATION: with its value `direct`, a connection without TLS would fail.
    sslnegotiation: "postgres",
    max: connections,
    // Frees the connection for other processes.
    idleTimeoutMillis: 3_000,
    // Every column is TEXT or a number that JavaScript represents exactly: int8, int2, int4,
    // floats.
    types: { getTypeParser: (oid) => ([20, 21, 23, 700, 701].includes(oid) ? Number : String) },
    stream: () => socketWithTimeout(silenceMs),
    onConnect: primaryWithinMs === undefined ? undefined : refuseReadOnly,
  })
  pool.on("connect", (client) => {
    // Keeps the client from sending a cancel request, which a pooler could apply to another
    // client's statement.
    Object.assign(client, { processID: undefined })
    // A server that became read-only keeps its connections open, so they must leave the pool.
    if (client instanceof Pg.Client)
      client.connection.prependListener("errorMessage", (error: unknown) => {
        if (Failure.isDisconnection(error)) void client.end()
      })
  })
  // Without a listener the event would throw. The pool has already removed the connection.
  return pool.on("error", () => {})
}

const close = (pool: Pg.Pool) =>
  Effect.promise(() => pool.end()).pipe(Effect.interruptible, Effect.timeoutOption("1 second"))

const refuseReadOnly = async (client: Pg.ClientBase) => {
  const { rows } = await client.query("SHOW transaction_read_only")
  if (rows[0]?.transaction_read_only === "on")
    throw Object.assign(new Error("the server is read-only"), { code: "25006" })
}

// Closes a connection on which nothing arrives, because a dead network causes no error for about 15
// minutes. The driver's own timeout would keep the connection, and a late answer could be taken for
// that of the next query.
const socketWithTimeout = (silenceMs: number) => {
  const error = Object.assign(new Error(`no answer for ${silenceMs} ms`), { code: "ETIMEDOUT" })
  const socket = new Socket()
  return socket.setTimeout(silenceMs, () => void socket.destroy(error))
}

/**
 * Asks the server for its version and settings. Fails with StoreFailure when it does not answer.
 */
export const examine = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  SqlSchema.single({
    Request: Schema.Void,
    Result: Schema.Struct({
      version: Schema.String,
      isStandby: Schema.BooleanFromString,
      fsync: Schema.String,
    }),
    // Other databases that use PostgreSQL's protocol may not have the setting fsync.
    execute: () => sql`SELECT current_setting('server_version') AS version,
      pg_is_in_recovery()::text AS "isStandby",
      coalesce(current_setting('fsync', true), 'unknown') AS fsync`,
  })(undefined),
).pipe(Effect.mapError(Failure.describe))

export const isTooOld = (version: string) => Number.parseFloat(version) < 14
