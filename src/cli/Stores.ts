/** From settings to the adapters that the verbs run on; only here is it known which they are. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Settings from "../Settings.ts"
import * as SqlAccounts from "../sql/Accounts.ts"
import * as SqlApiKeys from "../sql/ApiKeys.ts"
import * as SqlCreditLedger from "../sql/CreditLedger.ts"
import * as SqlMetricsCache from "../sql/MetricsCache.ts"
import * as Migrations from "../sql/Migrations.ts"
import * as Postgres from "../sql/Postgres.ts"
import * as SqlReceipts from "../sql/Receipts.ts"
import * as SqlRankings from "../sql/Rankings.ts"
import * as Sqlite from "../sql/Sqlite.ts"
import * as Logging from "./Logging.ts"

/** How much longer than its request a hold may live: the time to settle it on a slow disk. */
const settleTime = Duration.seconds(30)

const database = Effect.map(Settings.Settings, ({ databaseUrl }) => {
  const url = Redacted.value(databaseUrl)
  return Layer.provideMerge(
    Migrations.layer,
    url.startsWith("sqlite:")
      ? Sqlite.layer(url.slice("sqlite:".length))
      : Postgres.layer(databaseUrl),
  )
}).pipe(Layer.unwrapEffect)

const ledger = Effect.map(Settings.Settings, ({ requestTimeout }) => {
  const lease = Duration.sum(requestTimeout, settleTime)
  return Layer.merge(SqlCreditLedger.layer({ lease }), SqlReceipts.layer({ lease }))
}).pipe(Layer.unwrapEffect)

/** Accounts, keys, credits, kept figures and the data set, on the database of the settings. */
export const layer = Layer.mergeAll(
  SqlAccounts.layer,
  SqlApiKeys.layer,
  SqlMetricsCache.layer,
  SqlRankings.layer,
  ledger,
).pipe(Layer.provide(database))

/** What the verbs of the command line need: the stores, and a log that leaves stdout alone. */
export const forVerbs = layer.pipe(
  Layer.provide(Logging.layer({ stderr: true })),
  Layer.provide(Settings.layer),
)
