/** The ledger's methods with plain numbers, for tests. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

export * from "./ledgerCalls.ts"

/** Ends the leases of all holds in the SQL database. */
export const endLeases = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE holds SET expires_at = 0`,
)
