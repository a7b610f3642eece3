/** The SQL client for PostgreSQL, a database that any number of processes share. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type { Pool } from "pg"
import { StoreFailure } from "../StoreFailure.ts"
import * as ConnectionString from "./ConnectionString.ts"
import * as Failure from "./Failure.ts"
import { naming } from "./naming.ts"
import * as PostgresConnection from "./PostgresConnection.ts"
import * as PostgresPool from "./PostgresPool.ts"
import * as Presence from "./Presence.ts"
import * as transaction from "./transaction.ts"

export interface Options {
  /** Fail when the database has other content. Default: "anything". */
  readonly content?: Presence.Content
  /** Maximum number of open connections. Default: 4. */
  readonly connections?: number
  /**
   * Accept only a server that accepts writes, and wait this long for such a server. Default: also
   * accept a server that is read-only.
   */
  readonly primaryWithin?: Duration.DurationInput | undefined
  /** Close a connection, and fail its statement, after this long without traffic. Default: 15 s. */
  readonly silence?: Duration.DurationInput
}

/**
 * Connects by a connection string. Fails with StoreFailure when the string is invalid or the server
 * cannot be used.
 */
export const layer = (
  url: Redacted.Redacted,
  { connections = 4, content = "anything", primaryWithin, silence = "15 seconds" }: Options = {},
): Layer.Layer<SqlClient.SqlClient, StoreFailure | Presence.NoDatabase> =>
  Layer.scoped(
    SqlClient.SqlClient,
    ConnectionString.parse(Redacted.value(url)).pipe(
      Effect.mapError(({ message }) => new StoreFailure({ message })),
      Effect.flatMap((target) =>
        make(
          {
            target,
            maxConnections: connections,
            silenceMs: Duration.toMillis(silence),
            mustWrite: primaryWithin !== undefined,
            types: { getTypeParser: parserOf },
          },
          Duration.decode(primaryWithin ?? Duration.zero),
        ),
      ),
      Effect.tap((sql) => Presence.examine(sql, Presence.placeOf(Redacted.value(url)), content)),
    ),
  ).pipe(Layer.provide(Reactivity.layer))

const make = Effect.fnUntraced(function* (
  options: PostgresPool.Options,
  maxWait: Duration.Duration,
) {
  const pool = yield* PostgresPool.make(options)
  yield* connected(pool, maxWait)
  const { database, host, port } = options.target
  const sql = yield* SqlClient.make({
    acquirer: Effect.succeed(PostgresConnection.ofPool(pool)),
    transactionAcquirer: PostgresConnection.reserve(pool),
    compiler: PgClient.makeCompiler(naming.transformQueryNames),
    transformRows: Statement.defaultTransforms(naming.transformResultNames).array,
    spanAttributes: [
      ["db.system.name", "postgresql"],
      ["db.namespace", database],
      ["server.address", host],
      ["server.port", port],
    ],
  })
  return Object.assign(sql, { withTransaction: boundedTransaction(sql) })
}, Effect.mapError(Failure.describe))

// Opens a connection to check that the server can be used. When the server is read-only, waits up
// to `maxWait` for a primary. When it has no free connection, waits for one.
const connected = (pool: Pool, maxWait: Duration.Duration) => {
  const attempt = Effect.tryPromise({
    try: async () => (await pool.connect()).release(),
    catch: (cause) => new SqlError({ cause, message: "Failed to connect" }),
  }).pipe(Effect.retry({ while: Failure.isFull, schedule: waitForConnection }))
  const schedule = Schedule.upTo(Schedule.spaced("500 millis"), maxWait)
  const span = Duration.format(maxWait)
  return Effect.catchIf(
    attempt,
    (error) => Failure.isReadOnly(error) && Duration.greaterThan(maxWait, Duration.zero),
    (error) =>
      Effect.zipRight(
        Effect.logWarning(
          `${Failure.describe(error).message}. Waiting up to ${span} for a primary.`,
        ),
        Effect.retry(attempt, { while: Failure.isDisconnection, schedule }),
      ),
  )
}

const waitForConnection = Schedule.spaced("100 millis").pipe(
  Schedule.jittered,
  Schedule.upTo("10 seconds"),
)

// Sets two limits, because an open transaction keeps accounts locked: the server ends a transaction
// whose client sends nothing for 5 s, and cancels a statement after 10 s. By default, both errors
// of the server arrive before the limit `silence` (15 s) closes the connection.
const boundedTransaction = (sql: SqlClient.SqlClient) =>
  transaction.make(sql, begin, (connection, statements) =>
    connection.executeUnprepared(statements, [], undefined),
  )

/** The role or the database may have other defaults than those on which the ledger depends. */
const begin = [
  "BEGIN ISOLATION LEVEL READ COMMITTED",
  "SET LOCAL idle_in_transaction_session_timeout = '5s'",
  "SET LOCAL statement_timeout = '10s'",
  // With `off`, a server that crashes loses commits that it had acknowledged.
  "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'",
].join("; ")

// Every column is TEXT or a number that JavaScript represents exactly. By default the driver
// returns BIGINT as a string, because JavaScript cannot represent all integers above 2^53.
const parserOf = (typeOid: number) => (numbers.has(typeOid) ? Number : String)

/** The type OIDs of int8, int2, int4, float4 and float8 in PostgreSQL's catalogue pg_type. */
const numbers = new Set([20, 21, 23, 700, 701])
