/**
 * Chooses the storage adapters from the settings. Adapters are imported when a verb needs them:
 * `--help` loads none, and SQLite does not load PostgreSQL.
 */
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Settings from "../Settings.ts"
import type { Options as PostgresOptions } from "../sql/Postgres.ts"
import * as Logging from "./Logging.ts"

/** A lease lasts for the request timeout and this time, which settles the hold on a slow disk. */
const settleTime = Duration.seconds(30)

/** What to do when the database does not exist. */
type Missing = "create" | "create and say so" | "fail"

/** A verb needs one connection only. This leaves the others to the service. */
const forOneVerb = (): PostgresOptions => ({ connections: 1 })

/** Opens the database of the settings and runs the migrations. */
const databaseOr = (
  missing: Missing,
  optionsOf: (settings: Settings.Settings["Type"]) => PostgresOptions = forOneVerb,
) =>
  Effect.flatMap(Settings.Settings, (settings) =>
    Effect.promise(async () => {
      const Migrations = await import("../sql/Migrations.ts")
      const Presence = await import("../sql/Presence.ts")
      const { databaseUrl } = settings
      const url = Redacted.value(databaseUrl)
      const mustExist = missing === "fail"
      const announce = Console.error(`created the database ${Presence.placeOf(url)}`)
      const announced = Effect.map(Presence.isPresent, (isPresent) =>
        isPresent ? Migrations.layer : Layer.tap(Migrations.layer, () => announce),
      )
      return Layer.provideMerge(
        missing === "create and say so" ? Layer.unwrapEffect(announced) : Migrations.layer,
        url.startsWith("sqlite:")
          ? (await import("../sql/Sqlite.ts")).layer(url.slice("sqlite:".length), { mustExist })
          : (await import("../sql/Postgres.ts")).layer(databaseUrl, {
              ...optionsOf(settings),
              mustExist,
            }),
      )
    }),
  ).pipe(Layer.unwrapEffect)

/** Logs a warning when PostgreSQL is older than the oldest supported version. */
const warnOfVersion = Effect.flatMap(Settings.Settings, ({ databaseUrl }) =>
  Redacted.value(databaseUrl).startsWith("sqlite:")
    ? Effect.void
    : Effect.flatMap(
        Effect.promise(() => import("../sql/PostgresServer.ts")),
        ({ warnOfVersion }) => warnOfVersion,
      ),
)

/** Opens or creates the database. Waits up to 30 seconds for a writable PostgreSQL server. */
export const database = Layer.tap(
  databaseOr("create", ({ databaseConnections }) => ({
    connections: databaseConnections,
    primaryWithin: "30 seconds",
  })),
  (context) => Effect.provide(warnOfVersion, context),
)

/** Opens the database. Fails with NoDatabase when it does not exist, and creates nothing. */
export const existingDatabase = databaseOr("fail")

/** Opens the database, or an empty one in memory when it cannot be opened, to check providers. */
export const databaseOrEmpty = Layer.catchAll(existingDatabase, () => emptyDatabase)

const emptyDatabase = Effect.promise(async () => {
  const Migrations = await import("../sql/Migrations.ts")
  const Sqlite = await import("../sql/Sqlite.ts")
  return Layer.provideMerge(Migrations.layer, Sqlite.layer(":memory:"))
}).pipe(Layer.unwrapEffect)

const health = Effect.promise(async () => {
  const SqlHealth = await import("../sql/Health.ts")
  return SqlHealth.layer
}).pipe(Layer.unwrapEffect)

/** The heartbeat of a serving process, and the health check that includes it. */
export const heartbeat = Layer.provideMerge(
  health,
  Effect.promise(async () => {
    const Heartbeat = await import("../sql/Heartbeat.ts")
    return Heartbeat.layer
  }).pipe(Layer.unwrapEffect),
)

/** Accounts, keys and the ledger, stored in the database. */
export const inDatabase = Effect.flatMap(Settings.Settings, ({ requestTimeout }) =>
  Effect.promise(async () => {
    const SqlAccounts = await import("../sql/Accounts.ts")
    const SqlApiKeys = await import("../sql/ApiKeys.ts")
    const SqlCreditLedger = await import("../sql/CreditLedger.ts")
    const lease = Duration.sum(requestTimeout, settleTime)
    return Layer.mergeAll(SqlAccounts.layer, SqlApiKeys.layer, SqlCreditLedger.layer({ lease }))
  }),
).pipe(Layer.unwrapEffect)

/** The rankings, stored in the database. `dataset import` writes them, the provider reads them. */
export const rankings = Effect.promise(async () => {
  const SqlRankings = await import("../sql/Rankings.ts")
  return SqlRankings.layer
}).pipe(Layer.unwrapEffect)

const all = Layer.mergeAll(inDatabase, rankings, health)

/** All stores, in the database of the settings, which must exist. */
export const layer = Layer.provideMerge(all, existingDatabase)

const forVerbsOn = <A, E>(stores: Layer.Layer<A, E, Settings.Settings>) =>
  stores.pipe(Layer.provide(Logging.layer({ stderr: true })), Layer.provide(Settings.layer))

/** For most verbs: stores in an existing database, and a log on stderr. */
export const forVerbs = forVerbsOn(layer)

/** For verbs that create a missing database. They print its name on stderr. */
export const forCreatingVerbs = forVerbsOn(Layer.provideMerge(all, databaseOr("create and say so")))
