/**
 * Finds out the version and the settings of a PostgreSQL server, and the mode of the connection
 * pooler in front of the server, if there is one.
 */
import { TLSSocket } from "node:tls"
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Pg from "pg"
import { StoreFailure } from "../StoreFailure.ts"
import * as ConnectionString from "./ConnectionString.ts"
import * as Failure from "./Failure.ts"
import * as PostgresPool from "./PostgresPool.ts"

export interface PostgresServer extends ConnectionString.Host {
  /** The version as the server writes it, such as `18.1`. */
  readonly version: string
  readonly isOlderThanPromised: boolean
  readonly isStandby: boolean
  /** The TLS version of this program's connection, such as `TLSv1.3`; undefined without TLS. */
  readonly tls: string | undefined
  /**
   * True when the server's connection to its client is encrypted. The client is the pooler or,
   * without a pooler, this program. Undefined when the server does not report this.
   */
  readonly isServerEncrypted: boolean | undefined
  readonly pooler: Pooler
  /** The setting synchronous_commit; `unknown` when the server does not have it. */
  readonly synchronousCommit: string
  readonly fsync: string
}

/**
 * The mode of a pooler in front of the server, such as PgBouncer. `none`: there is no pooler.
 * `unknown`: the mode cannot be determined.
 */
export type Pooler = "none" | "session" | "transaction" | "statement" | "unknown"

/** The oldest supported major version. */
const oldestPromised = 14

const isOlder = (versionNumber: number) => versionNumber < oldestPromised * 10_000

/**
 * Examines the server over at most two new connections. Fails with StoreFailure when the server
 * cannot be used or does not answer within 20 seconds.
 */
export const examine = (url: Redacted.Redacted): Effect.Effect<PostgresServer, StoreFailure> =>
  Effect.gen(function* () {
    const pool = yield* poolOf(url)
    const client = yield* connect(pool)
    const { pid, versionNumber, ...facts } = yield* ask(client, questions, Facts)
    return {
      ...facts,
      host: client.host,
      port: client.port,
      isOlderThanPromised: isOlder(versionNumber),
      tls: protocolOf(client),
      isServerEncrypted: yield* isServerEncrypted(client),
      pooler: processOf(client) === pid ? ("none" as const) : yield* modeOf(pool, client),
    }
  }).pipe(
    Effect.scoped,
    Effect.mapError(Failure.describe),
    Effect.timeoutFail({
      duration: "20 seconds",
      onTimeout: () =>
        new StoreFailure({
          message:
            "the database does not answer; check AUTHORITY_DATABASE_URL and the database server",
        }),
    }),
  )

const poolOf = (url: Redacted.Redacted) =>
  Effect.flatMap(
    Effect.mapError(
      ConnectionString.parse(Redacted.value(url)),
      ({ message }) => new StoreFailure({ message }),
    ),
    (target) =>
      PostgresPool.make({
        target,
        maxConnections: 2,
        silenceMs: 10_000,
        mustWrite: false,
        types: Pg.types,
      }),
  )

const connect = (pool: PostgresPool.Pool) =>
  Effect.acquireRelease(
    Effect.tryPromise(() => pool.connect()),
    (client) => Effect.sync(() => client.release(true)),
  )

const query = (client: Pg.ClientBase, text: string) =>
  Effect.map(
    Effect.tryPromise(() => client.query<object>(text)),
    ({ rows }) => rows[0],
  )

const ask = <A, I>(client: Pg.ClientBase, text: string, schema: Schema.Schema<A, I>) =>
  Effect.flatMap(query(client, text), Schema.decodeUnknown(schema))

/**
 * Other databases that use PostgreSQL's protocol lack some of these settings. For an unknown
 * setting, `current_setting(…, true)` returns null and does not fail.
 */
const questions = `
  SELECT
    pg_backend_pid() AS pid,
    current_setting('server_version') AS version,
    current_setting('server_version_num')::int AS "versionNumber",
    pg_is_in_recovery() AS "isStandby",
    coalesce(current_setting('synchronous_commit', true), 'unknown') AS "synchronousCommit",
    coalesce(current_setting('fsync', true), 'unknown') AS fsync`

const Facts = Schema.Struct({
  pid: Schema.Int,
  version: Schema.String,
  versionNumber: Schema.Int,
  isStandby: Schema.Boolean,
  synchronousCommit: Schema.String,
  fsync: Schema.String,
})

const isServerEncrypted = (client: Pg.ClientBase) =>
  ask(
    client,
    "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    Schema.Struct({ ssl: Schema.Boolean }),
  ).pipe(
    Effect.map(({ ssl }) => ssl),
    Effect.orElseSucceed(() => undefined),
  )

const protocolOf = (client: Pg.ClientBase) =>
  client instanceof Pg.Client && client.connection.stream instanceof TLSSocket
    ? (client.connection.stream.getProtocol() ?? undefined)
    : undefined

/** The server process id that the connection reported at its start. A pooler reports a fake one. */
const processOf = (client: Pg.ClientBase) =>
  Predicate.hasProperty(client, "processID") ? client.processID : undefined

/**
 * Finds out the pooler's mode. In session mode, two clients that are connected at the same time
 * never get the same server process. In statement mode, the pooler refuses transactions.
 */
const modeOf = (pool: PostgresPool.Pool, client: Pg.ClientBase) =>
  Effect.gen(function* () {
    if (yield* forbidsTransactions(client)) return "statement" as const
    const other = yield* connect(pool)
    const seen = new Set<number>()
    for (let round = 0; round < 20; round++) {
      seen.add(yield* pidOf(client))
      if (seen.has(yield* pidOf(other))) return "transaction" as const
    }
    return "session" as const
  }).pipe(
    // Without a timeout, a pooler in session mode that has only one server connection would make
    // the query on `other` wait forever: that connection stays with `client`.
    Effect.timeout("5 seconds"),
    Effect.orElseSucceed(() => "unknown" as const),
  )

const forbidsTransactions = (client: Pg.ClientBase) =>
  query(client, "BEGIN").pipe(
    Effect.zipRight(query(client, "ROLLBACK")),
    Effect.as(false),
    Effect.catchIf(Failure.isStatementPooling, () => Effect.succeed(true)),
  )

const pidOf = (client: Pg.ClientBase) =>
  Effect.map(
    ask(client, "SELECT pg_backend_pid() AS pid", Schema.Struct({ pid: Schema.Int })),
    ({ pid }) => pid,
  )

/** Logs a warning when the server is older than the oldest supported version. Ignores errors. */
export const warnOfVersion = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  SqlSchema.single({
    Request: Schema.Void,
    Result: Schema.Struct({ version: Schema.String, number: Schema.NumberFromString }),
    execute: () => sql`
      SELECT current_setting('server_version') AS version,
        current_setting('server_version_num') AS number`,
  })(undefined),
).pipe(
  Effect.flatMap(({ number, version }) =>
    isOlder(number)
      ? Effect.logWarning(`Update the database server. ${ageOf(version)}.`)
      : Effect.void,
  ),
  Effect.ignore,
)

/** Describes a server that is older than the oldest supported version. */
export const ageOf = (version: string) =>
  `PostgreSQL ${version} is older than ${oldestPromised}, the oldest supported version`
