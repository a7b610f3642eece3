/**
 * The stores that the port suites run over. The suites of `Accounts`, `ApiKeys` and `CreditLedger`
 * test every store that is added here.
 */
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { inject } from "vitest"
import type { Accounts } from "../../src/accounts/Account.ts"
import type { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import type { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import type { AuditLog } from "../../src/accounts/AuditLog.ts"
import * as SqlAccounts from "../../src/accounts/SqlAccounts.ts"
import * as SqlApiKeys from "../../src/accounts/SqlApiKeys.ts"
import * as SqlAuditLog from "../../src/accounts/SqlAuditLog.ts"
import * as SqlCreditLedger from "../../src/ledger/SqlCreditLedger.ts"
import * as Migrations from "../../src/database/migrations/migrate.ts"
import * as Postgres from "../../src/database/Postgres.ts"
import { retryAfterConflict } from "../../src/database/retry.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

/** True if this run has a PostgreSQL server, which `npm test` has not. */
export const hasPostgres = inject("postgresUrl") !== undefined

/** The database of this run's suites. `npm test` runs them on SQLite, `npm run test:all` on PostgreSQL. */
export const engine = hasPostgres ? "PostgreSQL" : "SQLite"

/** Removes the database that this run does not test. */
export const ofRun = <Store extends readonly [name: string, ...rest: ReadonlyArray<unknown>]>(
  stores: ReadonlyArray<Store>,
) => stores.filter(([name]) => name === engine)

export type Ports = Accounts | ApiKeys | AuditLog | CreditLedger

/** The lease of holds in these stores. */
export const lease = "1 minute"

/** The SQL stores and their SQL client, for tests that query the tables. */
export const inSql = <E, R>(
  client: Layer.Layer<SqlClient.SqlClient, E, R>,
): Layer.Layer<Ports | SqlClient.SqlClient, unknown, R> =>
  Layer.mergeAll(
    SqlAccounts.layer,
    SqlApiKeys.layer,
    SqlAuditLog.layer,
    SqlCreditLedger.layer({ lease }),
  ).pipe(Layer.provideMerge(Migrations.layer), Layer.provideMerge(client))

/** The stores in a SQLite file, which remains when the layer closes. */
export const sqliteFile = (filename: string) => inSql(Sqlite.layer(filename))

/** The path of a database file in a new folder. The file does not exist yet. */
export const newFile = Effect.map(temporaryFolder, (folder) => join(folder, "authority.db"))

const temporarySqlite = Layer.unwrapScoped(Effect.map(newFile, sqliteFile))

/** Creates an empty database on a server. It is removed together with the server. */
export const newDatabaseOn = (server: string): Effect.Effect<Redacted.Redacted> =>
  Effect.gen(function* () {
    const name = `test_${randomUUID().replaceAll("-", "")}`
    yield* SqlClient.SqlClient.pipe(
      Effect.flatMap((sql) => sql.unsafe(`CREATE DATABASE ${name}`)),
      // CREATE DATABASE cannot run in a transaction.
      Effect.provide(PgClient.layer({ url: Redacted.make(`${server}/postgres`) })),
      retryAfterConflict,
    )
    return Redacted.make(`${server}/${name}`)
  }).pipe(Effect.orDie)

/** Creates an empty database on the run's PostgreSQL server. */
export const temporaryDatabase = Effect.suspend(() => {
  const server = inject("postgresUrl")
  return server === undefined
    ? Effect.dieMessage("this run has no PostgreSQL: see `hasPostgres`")
    : newDatabaseOn(server)
})

export const postgresDatabase = (...options: Parameters<typeof Postgres.layer>) =>
  inSql(Postgres.layer(...options))

const temporaryPostgres = Layer.unwrapEffect(
  Effect.map(temporaryDatabase, (url) => postgresDatabase(url)),
)

/**
 * Lets time pass for the stores. In PostgreSQL the server's clock judges leases, so there all
 * leases are shortened by that time.
 */
export const elapse = (time: Duration.DurationInput) =>
  Effect.zipRight(
    TestClock.adjust(time),
    Effect.flatMap(SqlClient.SqlClient, (sql) => {
      const ms = Duration.toMillis(time)
      return sql.onDialectOrElse({
        pg: () =>
          Effect.zipRight(
            sql`UPDATE holds SET expires_at = expires_at - ${ms}`,
            sql`UPDATE receipts SET expires_at = expires_at - ${ms} WHERE body IS NULL`,
          ),
        orElse: () => Effect.void,
      })
    }),
  )

/** Runs the migrations on a database. */
export const migrated = <E>(client: Layer.Layer<SqlClient.SqlClient, E>) =>
  Layer.provideMerge(Migrations.layer, client)

/** Empty databases with the program's tables, for the other ports. */
export const databases: ReadonlyArray<
  readonly [name: string, database: Layer.Layer<SqlClient.SqlClient, unknown>]
> = ofRun([
  ["SQLite", migrated(Sqlite.layer(":memory:"))],
  [
    "PostgreSQL",
    migrated(Layer.unwrapEffect(Effect.map(temporaryDatabase, (url) => Postgres.layer(url)))),
  ],
])

/**
 * Waits until another connection to PostgreSQL is waiting for a lock of the current transaction.
 */
export const untilAnotherWaits = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.repeat(
    sql`SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`,
    { until: (rows) => rows.length > 0 },
  ),
)

/** The SQL stores with their SQL client. */
export const stores: ReadonlyArray<
  readonly [name: string, store: Layer.Layer<Ports | SqlClient.SqlClient, unknown>]
> = ofRun([
  ["SQLite", temporarySqlite],
  ["PostgreSQL", temporaryPostgres],
])

/** Stores that outlive their processes. Each build of the layer acts as another process. */
export const lastingStores: ReadonlyArray<
  readonly [
    name: string,
    store: Effect.Effect<Layer.Layer<Ports | SqlClient.SqlClient, unknown>, unknown, Scope.Scope>,
  ]
> = ofRun([
  ["SQLite", Effect.map(temporaryFolder, (folder) => sqliteFile(join(folder, "authority.db")))],
  ["PostgreSQL", Effect.map(temporaryDatabase, (url) => postgresDatabase(url))],
])
