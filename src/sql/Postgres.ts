/** A database that any number of processes share. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { StoreFailure } from "../StoreFailure.ts"
import * as ConnectionString from "./ConnectionString.ts"
import * as Failure from "./Failure.ts"
import { naming } from "./naming.ts"
import * as PostgresPool from "./PostgresPool.ts"
import * as Presence from "./Presence.ts"
import * as transaction from "./transaction.ts"

export interface Options {
  /** Fails with NoDatabase where the database has none of our tables. */
  readonly mustExist?: boolean
  /** The most connections at a time. */
  readonly connections?: number
  /**
   * Accept only a server that can be written to, and wait this long for one. Default: accept what
   * the connection string accepts.
   */
  readonly primaryWithin?: Duration.DurationInput | undefined
  /** A connection is closed after this long without a byte; its statement fails. */
  readonly silence?: Duration.DurationInput
}

/** Connects as a connection string of libpq says; fails when no server is to be reached. */
export const layer = (
  url: Redacted.Redacted,
  { connections = 10, mustExist = false, primaryWithin, silence = "15 seconds" }: Options = {},
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
      Effect.tap((sql) =>
        mustExist ? Presence.required(sql, Presence.placeOf(Redacted.value(url))) : Effect.void,
      ),
    ),
  ).pipe(Layer.provide(Reactivity.layer))

const make = Effect.fnUntraced(function* (
  options: PostgresPool.Options,
  patience: Duration.Duration,
) {
  const sql = yield* PgClient.fromPool({
    ...naming,
    acquire: Effect.tap(PostgresPool.make(options), (pool) => connected(pool, patience)),
  })
  return Object.assign(sql, { withTransaction: boundedTransaction(sql) })
}, Effect.mapError(Failure.describe))

/** Connects once; on a standby, waits for a primary. */
const connected = (pool: PostgresPool.Pool, patience: Duration.Duration) => {
  const attempt = Effect.tryPromise({
    try: async () => (await pool.connect()).release(),
    catch: (cause) => new SqlError({ cause, message: "Failed to connect" }),
  })
  const schedule = Schedule.upTo(Schedule.spaced("500 millis"), patience)
  const span = Duration.format(patience)
  return Effect.catchIf(
    attempt,
    (error) => Failure.isReadOnly(error) && Duration.greaterThan(patience, Duration.zero),
    (error) =>
      Effect.zipRight(
        Effect.logWarning(
          `${Failure.describe(error).message}. Waiting up to ${span} for a primary.`,
        ),
        Effect.retry(attempt, { while: Failure.isDisconnection, schedule }),
      ),
  )
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
