/** The ledger's methods with plain numbers, for tests. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

export * from "./ledgerCalls.ts"

/** Ends the leases of all holds in the SQL database, and of their idempotency keys. */
export const endLeases = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.zipRight(
    sql`UPDATE holds SET expires_at = 0`,
    sql`UPDATE receipts SET expires_at = 0 WHERE body IS NULL`,
  ),
)
