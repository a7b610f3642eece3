/** The stores in an in-memory SQLite database, which the stores of one build share. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlCosts from "../../src/providers/costs/SqlCosts.ts"
import * as SqlAccounts from "../../src/accounts/SqlAccounts.ts"
import * as SqlApiKeys from "../../src/accounts/SqlApiKeys.ts"
import * as SqlAuditLog from "../../src/accounts/SqlAuditLog.ts"
import * as SqlCreditLedger from "../../src/ledger/SqlCreditLedger.ts"
import * as SqlMetricsCache from "../../src/providers/figures/SqlMetricsCache.ts"
import * as Health from "../../src/database/Health.ts"
import * as Migrations from "../../src/database/migrations/migrate.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"

const database = Layer.orDie(Layer.provideMerge(Migrations.layer, Sqlite.layer(":memory:")))

export const accounts = Layer.provide(SqlAccounts.layer, database)
export const apiKeys = Layer.provide(SqlApiKeys.layer, database)
export const auditLog = Layer.provide(SqlAuditLog.layer, database)
export const costs = Layer.provide(SqlCosts.layer, database)
export const creditLedger = (...options: Parameters<typeof SqlCreditLedger.layer>) =>
  Layer.provide(SqlCreditLedger.layer(...options), database)

/** A ledger that accepts any account id, and creates the account with its first credits. */
export const ledgerAlone = (...options: Parameters<typeof SqlCreditLedger.layer>) =>
  Layer.provide(
    SqlCreditLedger.layer(...options),
    Layer.tap(database, (context) =>
      Effect.orDie(Context.get(context, SqlClient.SqlClient)`
        CREATE TRIGGER any_account BEFORE INSERT ON entries BEGIN
          INSERT OR IGNORE INTO accounts (id, name, created_at)
          VALUES (NEW.account_id, NEW.account_id, 0);
        END`),
    ),
  )

export const health = Layer.provide(Health.layer, database)
export const metricsCache = Layer.provide(SqlMetricsCache.layer, database)
