/**
 * Opens the database that the settings name. Imports only the adapter of this database, so a
 * program with SQLite does not load the PostgreSQL adapter.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Settings from "../Settings.ts"
import type { Options as PostgresOptions } from "../sql/Postgres.ts"
import { lease } from "./Stores.ts"

/** What to do when the database does not exist. */
type Missing = "create" | "create and say so" | "fail"

/** A CLI verb opens one connection, to leave PostgreSQL's `max_connections` to the service. */
const forOneVerb = (): PostgresOptions => ({ connections: 1 })

/**
 * Opens the database that the settings name and runs the migrations. `missing` says what happens
 * when the database does not exist.
 */
export const databaseOr = (
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
const database = Layer.tap(
  databaseOr("create", ({ databaseConnections }) => ({
    connections: databaseConnections,
    primaryWithin: "30 seconds",
  })),
  (context) => Effect.provide(warnOfVersion, context),
)

/** Makes a layer from a module. The module is imported only when the layer is built. */
const imported = <A, E, R>(
  load: () => Promise<{ readonly layer: Layer.Layer<A, E, R> }>,
): Layer.Layer<A, E, R> =>
  Layer.unwrapEffect(Effect.map(Effect.promise(load), ({ layer }) => layer))

/** The health check of the database. */
export const health = imported(() => import("../sql/Health.ts"))

/** The heartbeat of a process that serves requests, and a health check that uses the heartbeat. */
const heartbeat = Layer.provideMerge(
  health,
  imported(() => import("../sql/Heartbeat.ts")),
)

/** The stores of accounts and API keys, and the ledger, all stored in the database. */
export const inDatabase = Effect.flatMap(Settings.Settings, (settings) =>
  Effect.promise(async () => {
    const SqlAccounts = await import("../sql/Accounts.ts")
    const SqlApiKeys = await import("../sql/ApiKeys.ts")
    const SqlCreditLedger = await import("../sql/CreditLedger.ts")
    return Layer.mergeAll(
      SqlAccounts.layer,
      SqlApiKeys.layer,
      SqlCreditLedger.layer({ lease: lease(settings) }),
    )
  }),
).pipe(Layer.unwrapEffect)

/** The cache of vendors' figures, stored in the database. */
export const cache = imported(() => import("../sql/MetricsCache.ts"))

/**
 * All stores of the service, in the database that the settings name. Creates this database when it
 * does not exist.
 */
export const ofSettings = Layer.merge(inDatabase, cache).pipe(
  Layer.provideMerge(heartbeat),
  Layer.provideMerge(database),
)
