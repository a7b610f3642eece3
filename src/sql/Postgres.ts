/** A database that any number of processes share. */
import { Socket } from "node:net"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"
import { naming } from "./naming.ts"
import * as Presence from "./Presence.ts"
import * as transaction from "./transaction.ts"

/**
 * Connects to `postgres://user:password@host:port/database`; fails when it is not to be reached. A
 * connection without a byte for `silence` is given up, and what was asked on it with it. With
 * `mustExist` it fails with NoDatabase where the database has none of our tables.
 */
export const layer = (
  url: Redacted.Redacted,
  {
    mustExist = false,
    silence = "15 seconds",
  }: { readonly mustExist?: boolean; readonly silence?: Duration.DurationInput } = {},
): Layer.Layer<SqlClient.SqlClient, StoreFailure | Presence.NoDatabase> =>
  Layer.scoped(
    SqlClient.SqlClient,
    Effect.tap(make(url, Duration.toMillis(silence)), (sql) =>
      mustExist ? Presence.required(sql, Presence.placeOf(Redacted.value(url))) : Effect.void,
    ),
  ).pipe(Layer.provide(Reactivity.layer))

const make = Effect.fnUntraced(function* (url: Redacted.Redacted, silenceMs: number) {
  const sql = yield* PgClient.make({
    url,
    ...naming,
    types: { getTypeParser: parserOf },
    applicationName: "authority",
    maxConnections: 10,
    connectTimeout: "5 seconds",
    // Sooner than by its silence.
    idleTimeout: "10 seconds",
    stream: () => impatientSocket(silenceMs),
  })
  return Object.assign(sql, { withTransaction: boundedTransaction(sql) })
}, Effect.mapError(Failure.describe))

/**
 * A network that died says nothing, and the system would wait for it for a quarter of an hour. The
 * client's own timeout of a query leaves the connection in use with its answer still to come.
 */
const impatientSocket = (silenceMs: number) => {
  const socket = new Socket()
  return socket.setTimeout(silenceMs, () => {
    const error = new Error(`no answer for ${silenceMs} ms`)
    socket.destroy(Object.assign(error, { code: "ETIMEDOUT" }))
  })
}

/**
 * A process that is frozen, or cut off from the network, in the middle of a transaction would keep
 * every other one from the accounts it has locked; the server ends it instead. It also ends a
 * statement that takes long, before the client takes its silence for death.
 */
const boundedTransaction = (sql: SqlClient.SqlClient) =>
  transaction.make(sql, begin, (connection, statements) =>
    connection.executeUnprepared(statements, [], undefined),
  )

/** The role or the database may have other defaults: what a commit promises does not depend on them. */
const begin = [
  "BEGIN ISOLATION LEVEL READ COMMITTED",
  "SET LOCAL idle_in_transaction_session_timeout = '5s'",
  "SET LOCAL statement_timeout = '10s'",
  // Without it a server that crashes loses commits that were acknowledged.
  "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'",
].join("; ")

/**
 * Every column of ours is TEXT or a number that JavaScript holds exactly. The client would hand
 * BIGINT over as a string, because of the integers above 2^53.
 */
const parserOf = (typeOid: number) => (numbers.has(typeOid) ? Number : String)

/** int8, int2, int4, float4 and float8, by PostgreSQL's catalogue pg_type. */
const numbers = new Set([20, 21, 23, 700, 701])
