/**
 * From settings to the adapters that the verbs run on; only here is it known which they are. They
 * are imported when a verb runs on them: `--help` does without, and SQLite without PostgreSQL.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Settings from "../Settings.ts"
import * as Logging from "./Logging.ts"

/** How much longer than its request a hold may live: the time to settle it on a slow disk. */
const settleTime = Duration.seconds(30)

/** The database of the settings, with every table in place, and its health. */
export const database = Effect.flatMap(Settings.Settings, ({ databaseUrl }) =>
  Effect.promise(async () => {
    const Migrations = await import("../sql/Migrations.ts")
    const SqlHealth = await import("../sql/Health.ts")
    const url = Redacted.value(databaseUrl)
    return Layer.provideMerge(
      Layer.merge(Migrations.layer, SqlHealth.layer),
      url.startsWith("sqlite:")
        ? (await import("../sql/Sqlite.ts")).layer(url.slice("sqlite:".length))
        : (await import("../sql/Postgres.ts")).layer(databaseUrl),
    )
  }),
).pipe(Layer.unwrapEffect)

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

/** All of it, in the database of the settings. */
export const layer = Layer.provideMerge(Layer.merge(inDatabase, rankings), database)

/** What the verbs of the command line need: the stores, and a log that leaves stdout alone. */
export const forVerbs = layer.pipe(
  Layer.provide(Logging.layer({ stderr: true })),
  Layer.provide(Settings.layer),
)
