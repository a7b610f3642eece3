/**
 * The stores of the service, one by one and all together: in the database that the settings name,
 * or in memory. A store's module is imported when its layer is built, so that `--help` loads none
 * and a program with SQLite does not load the PostgreSQL client.
 */
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Accounts } from "../accounts/Account.ts"
import type { ApiKeys } from "../accounts/ApiKeys.ts"
import type { AuditLog } from "../accounts/AuditLog.ts"
import type { CreditLedger } from "../ledger/CreditLedger.ts"
import type { Health } from "../database/Health.ts"
import type { MetricsCache } from "../providers/figures/MetricsCache.ts"
import type { Costs } from "../providers/costs/Costs.ts"
import type { QuoteSecret } from "../agents/QuoteSecret.ts"
import * as Settings from "../Settings.ts"
import type { Options as PostgresOptions } from "../database/Postgres.ts"
import type { Content } from "../database/Presence.ts"
import { StoreFailure } from "../database/StoreFailure.ts"

export type Stores =
  Accounts | ApiKeys | AuditLog | Costs | CreditLedger | Health | MetricsCache | QuoteSecret

// The longest lifetime of a hold: the request timeout plus 15 seconds, in which a request on a slow
// disk can still settle its hold.
const lease = ({ requestTimeout }: Settings.Settings["Type"]) =>
  Duration.sum(requestTimeout, "15 seconds")

/**
 * Makes a layer that loads its module when it is built.
 *
 * @internal
 */
export const imported = <A, E, R>(
  load: () => Promise<{ readonly layer: Layer.Layer<A, E, R> }>,
): Layer.Layer<A, E, R> =>
  Layer.unwrapEffect(Effect.map(Effect.promise(load), ({ layer }) => layer))

const creditLedger = Effect.map(
  Effect.all([Settings.Settings, Effect.promise(() => import("../ledger/SqlCreditLedger.ts"))]),
  ([settings, { layer }]) => layer({ lease: lease(settings) }),
).pipe(Layer.unwrapEffect)

const accounts = imported(() => import("../accounts/SqlAccounts.ts"))
const apiKeys = imported(() => import("../accounts/SqlApiKeys.ts"))
const auditLog = imported(() => import("../accounts/SqlAuditLog.ts"))
const costs = imported(() => import("../providers/costs/SqlCosts.ts"))
const health = imported(() => import("../database/Health.ts"))
const watchedHealth = imported(async () => ({
  layer: (await import("../database/Health.ts")).watching,
}))
const metricsCache = imported(() => import("../providers/figures/SqlMetricsCache.ts"))
const quoteSecret = imported(() => import("../agents/SqlQuoteSecret.ts"))

/**
 * The rankings in an open database, which `authority dataset import` writes and the provider
 * `dataset` reads.
 *
 * @internal
 */
export const rankings = imported(() => import("../providers/dataset/SqlRankings.ts"))

const isSqlite = ({ databaseUrl }: Settings.Settings["Type"]) =>
  Redacted.value(databaseUrl).startsWith("sqlite:")

/**
 * Opens the database that the settings name, without creating tables or migrating. A command opens
 * one connection, to leave PostgreSQL's `max_connections` to the service.
 */
const connected = (
  content: Content,
  optionsOf: (settings: Settings.Settings["Type"]) => PostgresOptions = () => ({ connections: 1 }),
) =>
  Effect.flatMap(Settings.Settings, (settings) =>
    Effect.promise(async () => {
      const url = Redacted.value(settings.databaseUrl)
      const { examine, placeOf } = await import("../database/Presence.ts")
      return isSqlite(settings)
        ? (await import("../database/Sqlite.ts")).layer(url.slice("sqlite:".length), { content })
        : Layer.tap(
            (await import("../database/Postgres.ts")).layer(
              settings.databaseUrl,
              optionsOf(settings),
            ),
            (context) => Effect.provide(examine(placeOf(url), content), context),
          )
    }),
  ).pipe(Layer.unwrapEffect)

const migrations = Effect.promise(() => import("../database/migrations/migrate.ts"))

/**
 * Migrates the database that the settings name, which must exist. Returns the previous schema
 * version.
 *
 * @internal
 */
export const migrate = Effect.flatMap(migrations, ({ run }) => run).pipe(
  Effect.provide(connected("ours")),
)

const existing = Layer.provideMerge(
  Layer.effectDiscard(Effect.flatMap(migrations, ({ required }) => required)),
  connected("ours"),
)

const existingOrNew = Effect.flatMap(Settings.Settings, ({ databaseUrl }) =>
  Effect.gen(function* () {
    const { isRunning, required, run } = yield* migrations
    const { isPresent, placeOf } = yield* Effect.promise(() => import("../database/Presence.ts"))
    const place = placeOf(Redacted.value(databaseUrl))
    if (place === ":memory:") {
      return yield* new StoreFailure({
        message:
          "AUTHORITY_DATABASE_URL is a database in memory, which ends with this command; set AUTHORITY_DATABASE_URL to a file",
      })
    }
    if ((yield* isPresent) && !(yield* isRunning)) return yield* required
    yield* run
    yield* Console.error(`created the database ${place}`)
  }),
).pipe(Layer.effectDiscard, Layer.provideMerge(connected("ours or nothing")))

/** Warns when PostgreSQL is older than the oldest supported version. */
const warnOfVersion = Effect.gen(function* () {
  if (isSqlite(yield* Settings.Settings)) return
  const { examine, isTooOld } = yield* Effect.promise(() => import("../database/Postgres.ts"))
  const { version } = yield* examine
  const problem = `PostgreSQL ${version} is older than 14, the oldest supported version`
  if (isTooOld(version)) yield* Effect.logWarning(`Update the database server. ${problem}.`)
}).pipe(Effect.ignore)

// Opens the database for a service, creating or migrating it. Waits up to 30 seconds for a writable
// PostgreSQL server.
const database = Layer.tap(
  Layer.provideMerge(
    Layer.effectDiscard(Effect.flatMap(migrations, ({ run }) => run)),
    connected("ours or nothing", ({ databaseConnections }) => ({
      connections: databaseConnections,
      primaryWithinMs: 30_000,
    })),
  ),
  (context) => Effect.provide(warnOfVersion, context),
).pipe(
  // NoDatabase never occurs here, but the types allow it.
  Layer.mapError((error) =>
    error._tag === "NoDatabase" ? new StoreFailure({ message: error.message }) : error,
  ),
)

/**
 * Each store of a service in the database that the settings name, which is created if it does not
 * exist. The stores of one service share its connections.
 */
export const inDatabase = {
  accounts: Layer.provide(accounts, database),
  apiKeys: Layer.provide(apiKeys, database),
  auditLog: Layer.provide(auditLog, database),
  costs: Layer.provide(costs, database),
  creditLedger: Layer.provide(creditLedger, database),
  health: Layer.provide(watchedHealth, database),
  metricsCache: Layer.provide(metricsCache, database),
  quoteSecret: Layer.provide(quoteSecret, database),
}

const common = Layer.mergeAll(
  accounts,
  apiKeys,
  auditLog,
  costs,
  creditLedger,
  metricsCache,
  quoteSecret,
)

const all = Layer.provide(Layer.merge(common, watchedHealth), database)

/**
 * The database that the settings name, with all stores of a service.
 *
 * @internal
 */
export const allInDatabase = Layer.merge(all, database)

/** Stores in a database in memory, for tests. Its content is lost when the layer closes. */
export const inMemory: Layer.Layer<Stores, never, Settings.Settings> = Layer.fresh(all).pipe(
  Layer.provide(
    Layer.effect(
      Settings.Settings,
      Effect.map(Settings.Settings, (settings) => ({
        ...settings,
        databaseUrl: Redacted.make("sqlite::memory:"),
      })),
    ),
  ),
  Layer.orDie,
)

const ofVerbs = Layer.mergeAll(common, health, rankings)

/**
 * What most commands need. Fails with NoDatabase when the database does not exist.
 *
 * @internal
 */
export const forCommands = Layer.provideMerge(ofVerbs, existing)

/**
 * For commands that create a missing database and print its location on stderr.
 *
 * @internal
 */
export const forCreatingCommands = Layer.provideMerge(ofVerbs, existingOrNew)

/**
 * The record of what calls cost, in an existing database with this program's schema.
 *
 * @internal
 */
export const costsForVerbs = Layer.provide(costs, existing)
