/**
 * From settings to the adapters that the verbs run on; only here is it known which they are. They
 * are imported when a verb runs on them: `--help` does without, and SQLite without PostgreSQL.
 */
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Settings from "../Settings.ts"
import type { Options as PostgresOptions } from "../sql/Postgres.ts"
import * as Logging from "./Logging.ts"

/** How much longer than its request a hold may live: the time to settle it on a slow disk. */
const settleTime = Duration.seconds(30)

/** What becomes of a database that does not exist. */
type Missing = "create" | "create and say so" | "fail"

/** A verb does one thing after the other, and leaves the other connections to who serves. */
const forOneVerb = (): PostgresOptions => ({ connections: 1 })

/** The database of the settings, with every table in place. */
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

/** Logs one line where PostgreSQL is older than what is promised. */
const warnOfVersion = Effect.flatMap(Settings.Settings, ({ databaseUrl }) =>
  Redacted.value(databaseUrl).startsWith("sqlite:")
    ? Effect.void
    : Effect.flatMap(
        Effect.promise(() => import("../sql/PostgresServer.ts")),
        ({ warnOfVersion }) => warnOfVersion,
      ),
)

/** Creates the database where there is none, and waits for a PostgreSQL that can be written to. */
export const database = Layer.tap(
  databaseOr("create", ({ databaseConnections }) => ({
    connections: databaseConnections,
    primaryWithin: "30 seconds",
  })),
  (context) => Effect.provide(warnOfVersion, context),
)

/** Fails with NoDatabase where there is none, and creates nothing. */
export const existingDatabase = databaseOr("fail")

/** An empty database in memory in place of one that does not exist, to examine providers on. */
export const databaseOrEmpty = Layer.catchAll(existingDatabase, (error) =>
  error._tag === "NoDatabase" ? emptyDatabase : Layer.fail(error),
)

const emptyDatabase = Effect.promise(async () => {
  const Migrations = await import("../sql/Migrations.ts")
  const Sqlite = await import("../sql/Sqlite.ts")
  return Layer.provideMerge(Migrations.layer, Sqlite.layer(":memory:"))
}).pipe(Layer.unwrapEffect)

/** The health of a database. */
const health = Effect.promise(async () => {
  const SqlHealth = await import("../sql/Health.ts")
  return SqlHealth.layer
}).pipe(Layer.unwrapEffect)

/** What a serving process has beside a database: its heartbeat, and a health that knows of it. */
export const heartbeat = Layer.provideMerge(
  health,
  Effect.promise(async () => {
    const Heartbeat = await import("../sql/Heartbeat.ts")
    return Heartbeat.layer
  }).pipe(Layer.unwrapEffect),
)

/** Accounts, keys and credits, in a database. */
export const inDatabase = Effect.flatMap(Settings.Settings, ({ requestTimeout }) =>
  Effect.promise(async () => {
    const SqlAccounts = await import("../sql/Accounts.ts")
    const SqlApiKeys = await import("../sql/ApiKeys.ts")
    const SqlCreditLedger = await import("../sql/CreditLedger.ts")
    const lease = Duration.sum(requestTimeout, settleTime)
    return Layer.mergeAll(SqlAccounts.layer, SqlApiKeys.layer, SqlCreditLedger.layer({ lease }))
  }),
).pipe(Layer.unwrapEffect)

/** The data set, in a database; one verb fills it, and one provider reads it. */
export const rankings = Effect.promise(async () => {
  const SqlRankings = await import("../sql/Rankings.ts")
  return SqlRankings.layer
}).pipe(Layer.unwrapEffect)

const all = Layer.mergeAll(inDatabase, rankings, health)

/** All of it, in the database of the settings, which must exist. */
export const layer = Layer.provideMerge(all, existingDatabase)

const forVerbsOn = <A, E>(stores: Layer.Layer<A, E, Settings.Settings>) =>
  stores.pipe(Layer.provide(Logging.layer({ stderr: true })), Layer.provide(Settings.layer))

/** What most verbs need: stores that exist, and a log that leaves stdout alone. */
export const forVerbs = forVerbsOn(layer)

/** The same for the verbs that create the database where there is none. They name it on stderr. */
export const forCreatingVerbs = forVerbsOn(Layer.provideMerge(all, databaseOr("create and say so")))
