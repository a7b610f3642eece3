/**
 * The migrations, which create and change the tables of SQLite and PostgreSQL. Times are epoch
 * milliseconds.
 *
 * On some engines with PostgreSQL's protocol, each schema change commits by itself. So a step
 * changes the schema before it changes rows, and skips changes that are already made.
 */
import { randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { retentionMs } from "../../ledger/Hold.ts"
import { genesisHash } from "../../ledger/LedgerEntry.ts"

/** SQLite always rolls back a failed step, and cannot test whether a column exists. */
const addColumn = (sql: SqlClient.SqlClient, table: string, column: string) => {
  const ifNotExists = sql.onDialectOrElse({ sqlite: () => "", orElse: () => "IF NOT EXISTS" })
  return sql.unsafe(`ALTER TABLE ${table} ADD COLUMN ${ifNotExists} ${column}`)
}

const dropColumn = (sql: SqlClient.SqlClient, table: string, column: string) => {
  const ifExists = sql.onDialectOrElse({ sqlite: () => "", orElse: () => "IF EXISTS" })
  return sql.unsafe(`ALTER TABLE ${table} DROP COLUMN ${ifExists} ${column}`)
}

/** Creates the tables of version 1.1.0 that are still in use. Its own databases skip this step. */
const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Makes SQLite store rows in the order of the primary key, so that the entries of an account are
  // next to each other.
  const clustered = sql.literal(
    sql.onDialectOrElse({ sqlite: () => "WITHOUT ROWID", orElse: () => "" }),
  )
  yield* sql`
    CREATE TABLE IF NOT EXISTS accounts (
      id TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      created_at BIGINT NOT NULL,
      suspended_at BIGINT
    )`
  yield* sql`
    CREATE TABLE IF NOT EXISTS budgets (
      id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      credits BIGINT NOT NULL CHECK (credits > 0),
      period TEXT NOT NULL CHECK (period IN ('day', 'month', 'total')),
      since BIGINT NOT NULL
    )`
  yield* sql`CREATE INDEX IF NOT EXISTS budgets_by_account ON budgets (account_id)`
  yield* sql`
    CREATE TABLE IF NOT EXISTS budget_uses (
      budget_id TEXT NOT NULL REFERENCES budgets (id),
      start BIGINT NOT NULL,
      charged BIGINT NOT NULL CHECK (charged >= 0),
      held BIGINT NOT NULL CHECK (held >= 0),
      holds BIGINT NOT NULL CHECK (holds >= 0),
      PRIMARY KEY (budget_id, start)
    )`
  // Keys that replace each other share a budget.
  yield* sql`
    CREATE TABLE IF NOT EXISTS api_keys (
      id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      label TEXT,
      hash TEXT NOT NULL UNIQUE,
      start TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT,
      lifetime_ms BIGINT,
      revoked_at BIGINT,
      last_used_at BIGINT,
      budget_id TEXT REFERENCES budgets (id),
      scopes TEXT NOT NULL DEFAULT 'check,read'
    )`
  yield* sql`CREATE INDEX IF NOT EXISTS api_keys_by_account ON api_keys (account_id, created_at)`
  // `budgets` is the number of budgets, so that a commit without budgets need not look for them.
  yield* sql`
    CREATE TABLE IF NOT EXISTS balances (
      account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
      granted BIGINT NOT NULL,
      charged BIGINT NOT NULL,
      held BIGINT NOT NULL,
      entries BIGINT NOT NULL,
      head TEXT NOT NULL,
      budgets BIGINT NOT NULL DEFAULT 0,
      CHECK (charged >= 0 AND held >= 0 AND charged + held <= granted)
    ) ${clustered}`
  yield* sql`
    CREATE TABLE IF NOT EXISTS holds (
      request_id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      amount BIGINT NOT NULL CHECK (amount > 0),
      expires_at BIGINT NOT NULL,
      owner TEXT,
      api_key_id TEXT,
      held_at BIGINT
    ) ${clustered}`
  yield* sql`CREATE INDEX IF NOT EXISTS holds_by_expiry ON holds (expires_at)`
  // As in version 1.1.0, SQLite has an index in place of the constraint of PostgreSQL.
  const unique = sql.onDialectOrElse({ sqlite: () => "", orElse: () => "UNIQUE" })
  yield* sql`
    CREATE TABLE IF NOT EXISTS entries (
      account_id TEXT NOT NULL REFERENCES accounts (id),
      sequence BIGINT NOT NULL,
      kind TEXT NOT NULL CHECK (kind IN ('grant', 'charge', 'correction')),
      amount BIGINT NOT NULL CHECK (amount > 0),
      balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
      request_id TEXT ${sql.literal(unique)},
      urls BIGINT,
      note TEXT,
      at BIGINT NOT NULL,
      hash TEXT NOT NULL,
      api_key_id TEXT,
      held_at BIGINT,
      PRIMARY KEY (account_id, sequence)
    ) ${clustered}`
  if (unique === "") yield* sql`CREATE UNIQUE INDEX entries_by_request ON entries (request_id)`
  yield* sql`
    CREATE TABLE IF NOT EXISTS receipts (
      account_id TEXT NOT NULL REFERENCES accounts (id),
      key TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      request_id TEXT NOT NULL,
      body TEXT,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (account_id, key)
    )`
  yield* sql`CREATE INDEX IF NOT EXISTS receipts_by_expiry ON receipts (expires_at)`
  // `since` is when the provider first gave these figures; null when that was at `fetched_at`.
  yield* sql`
    CREATE TABLE IF NOT EXISTS figures (
      provider TEXT NOT NULL,
      page TEXT NOT NULL,
      domain_authority DOUBLE PRECISION NOT NULL,
      page_authority DOUBLE PRECISION NOT NULL,
      spam_score DOUBLE PRECISION,
      fetched_at BIGINT NOT NULL,
      vendor_index TEXT,
      of_domain TEXT,
      since BIGINT,
      PRIMARY KEY (provider, page)
    )`
  yield* sql`CREATE INDEX IF NOT EXISTS figures_by_age ON figures (fetched_at)`
  yield* sql`
    CREATE TABLE IF NOT EXISTS observations (
      page TEXT NOT NULL,
      provider TEXT NOT NULL,
      fetched_at BIGINT NOT NULL,
      last_fetched_at BIGINT NOT NULL,
      vendor_index TEXT,
      domain_authority DOUBLE PRECISION NOT NULL,
      page_authority DOUBLE PRECISION NOT NULL,
      spam_score DOUBLE PRECISION,
      of_vendor BIGINT NOT NULL,
      stored_at BIGINT NOT NULL,
      PRIMARY KEY (page, provider, fetched_at)
    ) ${clustered}`
  yield* sql`CREATE INDEX IF NOT EXISTS observations_by_age ON observations (stored_at)`
  yield* sql.onDialectOrElse({
    sqlite: () => sql`
      CREATE TRIGGER figures_changed BEFORE UPDATE ON figures
      WHEN NEW.since IS NULL AND OLD.fetched_at < NEW.fetched_at
      BEGIN ${replaced(sql)} END`,
    orElse: () =>
      Effect.all([
        sql`
          CREATE OR REPLACE FUNCTION keep_figures() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN ${replaced(sql)} RETURN NEW; END $$`,
        sql`DROP TRIGGER IF EXISTS figures_changed ON figures`,
        sql`
          CREATE TRIGGER figures_changed BEFORE UPDATE ON figures
          FOR EACH ROW WHEN (NEW.since IS NULL AND OLD.fetched_at < NEW.fetched_at)
          EXECUTE FUNCTION keep_figures()`,
      ]),
  })
  // One of the tables contains the active list, the other the list that is being imported.
  for (const table of ["ranks_0", "ranks_1"]) {
    yield* sql`
      CREATE TABLE IF NOT EXISTS ${sql.literal(table)} (
        name TEXT NOT NULL PRIMARY KEY,
        rank BIGINT NOT NULL
      ) ${clustered}`
  }
  // The name of the active list, and when it was imported.
  yield* sql`
    CREATE TABLE IF NOT EXISTS ranking (
      id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
      list BIGINT CHECK (list IN (0, 1)),
      importing BIGINT,
      name TEXT,
      imported_at BIGINT
    )`
  yield* sql`
    CREATE TABLE IF NOT EXISTS audit_log (
      sequence BIGINT NOT NULL PRIMARY KEY,
      at BIGINT NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      subject TEXT NOT NULL,
      detail TEXT NOT NULL,
      row_table TEXT,
      row_id TEXT,
      state TEXT,
      granted BIGINT,
      hash TEXT NOT NULL
    )`
  yield* sql`CREATE INDEX IF NOT EXISTS audit_log_by_row ON audit_log (row_table, row_id, sequence)`
  yield* sql`
    CREATE TABLE IF NOT EXISTS audit_head (
      id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
      entries BIGINT NOT NULL,
      head TEXT NOT NULL
    )`
  // The acts that were done under the idempotency keys of the HTTP administration.
  yield* sql`
    CREATE TABLE IF NOT EXISTS act_requests (
      request_key TEXT NOT NULL,
      action TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      row_id TEXT,
      PRIMARY KEY (request_key, action)
    )`
  // `day` counts the days since 1970-01-01. `api_key_id` is empty for requests that name no key.
  yield* sql`
    CREATE TABLE IF NOT EXISTS usage (
      account_id TEXT NOT NULL REFERENCES accounts (id),
      day BIGINT NOT NULL,
      api_key_id TEXT NOT NULL,
      checks BIGINT NOT NULL,
      credits BIGINT NOT NULL,
      known BIGINT NOT NULL,
      invalid_url BIGINT NOT NULL,
      provider_error BIGINT NOT NULL,
      server_error BIGINT NOT NULL,
      PRIMARY KEY (account_id, day, api_key_id)
    ) ${clustered}`
  yield* sql`CREATE INDEX IF NOT EXISTS usage_by_day ON usage (day)`
  // `day` counts the days since 1970-01-01. `cost` is in millionths of the vendor's currency.
  yield* sql`
    CREATE TABLE IF NOT EXISTS purchase_days (
      provider TEXT NOT NULL,
      day BIGINT NOT NULL,
      calls BIGINT NOT NULL,
      targets BIGINT NOT NULL,
      rows_bought BIGINT NOT NULL,
      cost BIGINT,
      unknown_calls BIGINT NOT NULL,
      unknown_targets BIGINT NOT NULL,
      PRIMARY KEY (provider, day)
    ) ${clustered}`
  yield* sql`INSERT INTO audit_head (id, entries, head) VALUES (1, 0, ${genesisHash})`
})

/** Copies the figures that an update replaces, in SQL for both SQLite and PL/pgSQL. */
const replaced = (sql: SqlClient.SqlClient) =>
  sql.literal(`
    INSERT INTO observations
    VALUES (
      OLD.page, OLD.provider, COALESCE(OLD.since, OLD.fetched_at), OLD.fetched_at,
      OLD.vendor_index, OLD.domain_authority, OLD.page_authority, OLD.spam_score, 0, OLD.fetched_at
    ) ON CONFLICT DO NOTHING;`)

const costs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ifExists = sql.onDialectOrElse({ sqlite: () => "", orElse: () => "IF EXISTS" })
  yield* sql.unsafe(`ALTER TABLE ${ifExists} purchase_days RENAME TO costs`)
  yield* dropColumn(sql, "costs", "targets")
  yield* dropColumn(sql, "costs", "unknown_targets")
  yield* dropColumn(sql, "holds", "owner")
  // The service writes the time into the only row, to find out whether it can write.
  yield* sql`
    CREATE TABLE IF NOT EXISTS write_check (
      id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
      at BIGINT NOT NULL
    )`
  yield* addColumn(sql, "costs", "failed BIGINT NOT NULL DEFAULT 0")
  // The administration's idempotency keys expire like those of batches.
  yield* addColumn(sql, "act_requests", "expires_at BIGINT NOT NULL DEFAULT 0")
  yield* sql`CREATE INDEX IF NOT EXISTS act_requests_by_expiry ON act_requests (expires_at)`
  for (const table of ["purchases", "vendor_readings", "vendors", "claims", "processes"]) {
    yield* sql`DROP TABLE IF EXISTS ${sql.literal(table)}`
  }
  yield* sql`UPDATE act_requests SET expires_at = ${(yield* Clock.currentTimeMillis) + retentionMs}`
})

/** Secrets that the processes of one service share. */
const secrets = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE IF NOT EXISTS secrets (
      name TEXT NOT NULL PRIMARY KEY,
      value TEXT NOT NULL
    )`
  const value = randomBytes(32).toString("hex")
  yield* sql`
    INSERT INTO secrets (name, value) VALUES ('quotes', ${value}) ON CONFLICT (name) DO NOTHING`
})

/** The step of each migration, in the order of their numbers. */
export const steps = [
  { id: 16, name: "tables", change: tables },
  { id: 17, name: "costs", change: costs },
  { id: 18, name: "secrets", change: secrets },
]
