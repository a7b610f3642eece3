/** The databases of the benchmarks. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlAccounts from "../../src/sql/Accounts.ts"
import * as SqlCreditLedger from "../../src/ledger/SqlCreditLedger.ts"
import * as Migrations from "../../src/sql/Migrations.ts"
import * as PostgresClient from "../../src/sql/Postgres.ts"
import * as Sqlite from "../../src/sql/Sqlite.ts"
import * as Postgres from "./Postgres.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "authority-bench-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
)

const server = Effect.acquireRelease(
  Effect.promise(() => Postgres.start({ durable: true })),
  ({ destroy }) => Effect.promise(destroy),
)

/** Makes a durable database, which is removed when the layer closes. */
const newDatabase = (kind: string): Layer.Layer<SqlClient.SqlClient, unknown> =>
  kind === "postgres"
    ? Effect.map(server, ({ url }) =>
        // Filling and vacuuming a database are slow.
        PostgresClient.layer(Redacted.make(`${url}/postgres`), { silenceMs: 3_600_000 }),
      ).pipe(Layer.unwrapScoped)
    : Effect.map(folder, (folder) => Sqlite.layer(join(folder, "authority.db"))).pipe(
        Layer.unwrapScoped,
      )

/** A new database with the program's tables. */
const migrated = (kind: string) => Layer.provideMerge(Migrations.layer, newDatabase(kind))

/** A ledger in a new database. */
export const ledger = (kind: string) =>
  Layer.merge(SqlAccounts.layer, SqlCreditLedger.layer({ lease: "1 hour" })).pipe(
    Layer.provideMerge(migrated(kind)),
  )
