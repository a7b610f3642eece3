/**
 * The migrations, which create and change the tables on SQLite and PostgreSQL. Times are epoch
 * milliseconds.
 *
 * On some engines with PostgreSQL's protocol, each change of the schema commits by itself. So a
 * step changes the schema before it changes rows, and leaves out changes that are already made.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { retentionMs } from "../ledger/IdempotencyKey.ts"
import { genesisHash } from "../ledger/LedgerEntry.ts"

/** SQLite always rolls back a step that fails, and cannot test whether a column exists. */
const addColumn = (sql: SqlClient.SqlClient, table: string, column: string) => {
  const ifNotExists = sql.onDialectOrElse({ sqlite: () => "", orElse: () => "IF NOT EXISTS" })
  return sql.unsafe(`ALTER TABLE ${table} ADD COLUMN ${ifNotExists} ${column}`)
}

/**
 * Makes SQLite store the rows of a table in the order of the primary key, so that the entries of an
 * account, for example, are together.
 */
const inOrderOfKey = (sql: SqlClient.SqlClient) =>
  sql.literal(sql.onDialectOrElse({ sqlite: () => "WITHOUT ROWID", orElse: () => "" }))

const accountsKeysLedger = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = inOrderOfKey(sql)
  yield* sql`
    CREATE TABLE IF NOT EXISTS accounts (
      id TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      created_at BIGINT NOT NULL
    )`
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
      last_used_at BIGINT
    )`
  yield* sql`CREATE INDEX IF NOT EXISTS api_keys_by_account ON api_keys (account_id, created_at)`
  yield* sql`
    CREATE TABLE IF NOT EXISTS balances (
      account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
      granted BIGINT NOT NULL,
      charged BIGINT NOT NULL,
      held BIGINT NOT NULL,
      entries BIGINT NOT NULL,
      head TEXT NOT NULL,
      CHECK (charged >= 0 AND held >= 0 AND charged + held <= granted)
    ) ${clustered}`
  yield* sql`
    CREATE TABLE IF NOT EXISTS holds (
      request_id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      amount BIGINT NOT NULL CHECK (amount > 0),
      expires_at BIGINT NOT NULL
    ) ${clustered}`
  yield* sql`
    CREATE TABLE IF NOT EXISTS entries (
      account_id TEXT NOT NULL REFERENCES accounts (id),
      sequence BIGINT NOT NULL,
      kind TEXT NOT NULL CHECK (kind IN ('grant', 'charge')),
      amount BIGINT NOT NULL CHECK (amount > 0),
      balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
      request_id TEXT UNIQUE,
      urls BIGINT,
      note TEXT,
      at BIGINT NOT NULL,
      hash TEXT NOT NULL,
      PRIMARY KEY (account_id, sequence)
    ) ${clustered}`
})

const receipts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
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
  yield* sql`CREATE INDEX IF NOT EXISTS holds_by_expiry ON holds (expires_at)`
})

const figures = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE IF NOT EXISTS figures (
      provider TEXT NOT NULL,
      page TEXT NOT NULL,
      domain_authority DOUBLE PRECISION NOT NULL,
      page_authority DOUBLE PRECISION NOT NULL,
      spam_score DOUBLE PRECISION,
      fetched_at BIGINT NOT NULL,
      PRIMARY KEY (provider, page)
    )`
  yield* sql`CREATE INDEX IF NOT EXISTS figures_by_age ON figures (fetched_at)`
})

const rankings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = inOrderOfKey(sql)
  // One table contains the active list, the other table the list that is being imported.
  for (const table of ["ranks_0", "ranks_1"]) {
    yield* sql`
      CREATE TABLE IF NOT EXISTS ${sql.literal(table)} (
        name TEXT NOT NULL PRIMARY KEY,
        rank BIGINT NOT NULL
      ) ${clustered}`
  }
  yield* sql`
    CREATE TABLE IF NOT EXISTS ranking (
      id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
      list BIGINT CHECK (list IN (0, 1)),
      importing BIGINT
    )`
})

const processes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE IF NOT EXISTS processes (
      id TEXT NOT NULL PRIMARY KEY,
      beats BIGINT NOT NULL
    )`
  // The process that opened the hold. Null when no Heartbeat watches the process; the hold then
  // ends with its lease.
  yield* addColumn(sql, "holds", "owner TEXT")
})

const origins = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* addColumn(sql, "figures", "vendor_index TEXT")
  yield* addColumn(sql, "figures", "of_domain TEXT")
})

const imports = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Name of the list in use, and when it was imported.
  yield* addColumn(sql, "ranking", "name TEXT")
  yield* addColumn(sql, "ranking", "imported_at BIGINT")
})

const observations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = inOrderOfKey(sql)
  // Since when the figures are the same. Null: since `fetched_at`.
  yield* addColumn(sql, "figures", "since BIGINT")
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
})

/** Copies the figures that an update replaces. For SQLite and PL/pgSQL. */
const replaced = (sql: SqlClient.SqlClient) =>
  sql.literal(`
    INSERT INTO observations
    VALUES (
      OLD.page, OLD.provider, COALESCE(OLD.since, OLD.fetched_at), OLD.fetched_at,
      OLD.vendor_index, OLD.domain_authority, OLD.page_authority, OLD.spam_score, 0, OLD.fetched_at
    ) ON CONFLICT DO NOTHING;`)

const budgets = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
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
  // The number of budgets of the account, so that a commit without budgets does not look for them.
  yield* addColumn(sql, "balances", "budgets BIGINT NOT NULL DEFAULT 0")
  // The keys that replace each other share a budget.
  yield* addColumn(sql, "api_keys", "budget_id TEXT REFERENCES budgets (id)")
  yield* addColumn(sql, "holds", "api_key_id TEXT")
  yield* addColumn(sql, "holds", "held_at BIGINT")
  yield* sql.onDialectOrElse({
    sqlite: () => rebuildEntries(sql),
    orElse: () => sql`
      ALTER TABLE entries
        ADD COLUMN IF NOT EXISTS api_key_id TEXT,
        ADD COLUMN IF NOT EXISTS held_at BIGINT,
        DROP CONSTRAINT IF EXISTS entries_kind_check,
        ADD CONSTRAINT entries_kind_check CHECK (kind IN ('grant', 'charge', 'correction'))`,
  })
})

/** SQLite cannot change the CHECK of a column, so the rows move to a new table. */
const rebuildEntries = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    yield* sql`
      CREATE TABLE IF NOT EXISTS new_entries (
        account_id TEXT NOT NULL REFERENCES accounts (id),
        sequence BIGINT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('grant', 'charge', 'correction')),
        amount BIGINT NOT NULL CHECK (amount > 0),
        balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
        request_id TEXT,
        urls BIGINT,
        note TEXT,
        at BIGINT NOT NULL,
        hash TEXT NOT NULL,
        api_key_id TEXT,
        held_at BIGINT,
        PRIMARY KEY (account_id, sequence)
      ) WITHOUT ROWID`
    yield* sql`
      INSERT INTO new_entries
      SELECT account_id, sequence, kind, amount, balance_after, request_id, urls, note, at, hash,
        NULL, NULL
      FROM entries ORDER BY account_id, sequence`
    yield* sql`DROP TABLE entries`
    yield* sql`ALTER TABLE new_entries RENAME TO entries`
    // An index that is made at the end is sorted once, which is many times faster.
    yield* sql`CREATE UNIQUE INDEX IF NOT EXISTS entries_by_request ON entries (request_id)`
  })

const scopes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* addColumn(sql, "api_keys", "scopes TEXT NOT NULL DEFAULT 'check,read'")
  yield* addColumn(sql, "accounts", "suspended_at BIGINT")
})

const auditLog = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
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
  // The acts under the idempotency keys of the HTTP administration.
  yield* sql`
    CREATE TABLE IF NOT EXISTS act_requests (
      request_key TEXT NOT NULL,
      action TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      row_id TEXT,
      PRIMARY KEY (request_key, action)
    )`
  yield* sql`INSERT INTO audit_head (id, entries, head) VALUES (1, 0, ${genesisHash})`
})

const usage = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = inOrderOfKey(sql)
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
})

const purchases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = inOrderOfKey(sql)
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
  yield* sql`
    CREATE TABLE IF NOT EXISTS purchases (
      id TEXT NOT NULL PRIMARY KEY,
      provider TEXT NOT NULL,
      at BIGINT NOT NULL,
      targets BIGINT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('unknown', 'answered', 'failed')),
      rows_bought BIGINT,
      cost BIGINT,
      is_reported BIGINT
    ) ${clustered}`
  yield* sql`CREATE INDEX IF NOT EXISTS purchases_by_time ON purchases (at)`
  // A commit that changes purchases of a vendor locks the vendor's row.
  yield* sql`
    CREATE TABLE IF NOT EXISTS vendors (
      name TEXT NOT NULL PRIMARY KEY,
      paused_until BIGINT NOT NULL
    )`
})

const vendorReadings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = inOrderOfKey(sql)
  // `used` and `cost` are in millionths, unless `used` counts rows. `day` is null on demand.
  yield* sql`
    CREATE TABLE IF NOT EXISTS vendor_readings (
      provider TEXT NOT NULL,
      at BIGINT NOT NULL,
      day BIGINT,
      unit TEXT NOT NULL,
      used BIGINT NOT NULL,
      resets_at BIGINT,
      calls BIGINT NOT NULL,
      rows_bought BIGINT NOT NULL,
      cost BIGINT NOT NULL,
      unknown_calls BIGINT NOT NULL,
      unknown_targets BIGINT NOT NULL,
      in_flight_calls BIGINT NOT NULL,
      in_flight_targets BIGINT NOT NULL,
      PRIMARY KEY (provider, at)
    ) ${clustered}`
  yield* sql`CREATE UNIQUE INDEX IF NOT EXISTS vendor_readings_by_day ON vendor_readings (provider, day)`
})

const claims = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = inOrderOfKey(sql)
  // The pages whose figures a process is buying.
  yield* sql`
    CREATE TABLE IF NOT EXISTS claims (
      provider TEXT NOT NULL,
      page TEXT NOT NULL,
      owner TEXT NOT NULL,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (provider, page)
    ) ${clustered}`
})

const costs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.onDialectOrElse({
    sqlite: () =>
      Effect.all([
        sql`ALTER TABLE purchase_days RENAME TO costs`,
        sql`ALTER TABLE costs DROP COLUMN targets`,
        sql`ALTER TABLE costs DROP COLUMN unknown_targets`,
      ]),
    orElse: () =>
      Effect.all([
        sql`ALTER TABLE IF EXISTS purchase_days RENAME TO costs`,
        sql`ALTER TABLE costs DROP COLUMN IF EXISTS targets`,
        sql`ALTER TABLE costs DROP COLUMN IF EXISTS unknown_targets`,
      ]),
  })
  yield* addColumn(sql, "costs", "failed BIGINT NOT NULL DEFAULT 0")
  // The idempotency keys of the administration expire like those of batches.
  yield* addColumn(sql, "act_requests", "expires_at BIGINT NOT NULL DEFAULT 0")
  yield* sql`UPDATE act_requests SET expires_at = ${(yield* Clock.currentTimeMillis) + retentionMs}`
  yield* sql`CREATE INDEX IF NOT EXISTS act_requests_by_expiry ON act_requests (expires_at)`
  for (const table of ["purchases", "vendor_readings", "vendors", "claims"]) {
    yield* sql`DROP TABLE IF EXISTS ${sql.literal(table)}`
  }
})

const migrations = {
  "1_accounts_keys_ledger": accountsKeysLedger,
  "2_receipts": receipts,
  "3_figures": figures,
  "4_rankings": rankings,
  "5_processes": processes,
  "6_origins": origins,
  "7_imports": imports,
  "8_observations": observations,
  "9_budgets": budgets,
  "10_scopes": scopes,
  "11_audit_log": auditLog,
  "12_usage": usage,
  "13_purchases": purchases,
  "15_vendor_readings": vendorReadings,
  "16_claims": claims,
  "17_costs": costs,
}

/** The step of each migration, in the order of their numbers. */
export const steps = Object.entries<Effect.Effect<unknown, unknown, SqlClient.SqlClient>>(
  migrations,
).map(([name, change]) => {
  const [id = "", ...words] = name.split("_")
  return { id: Number(id), name: words.join("_"), change }
})
