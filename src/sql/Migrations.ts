/** Creates and migrates the tables on SQLite and PostgreSQL. Times are epoch milliseconds. */
import * as Migrator from "@effect/sql/Migrator"
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { genesisHash } from "../ledger/LedgerEntry.ts"
import { StoreFailure } from "../StoreFailure.ts"
import { beginLog } from "./auditLines.ts"
import * as Failure from "./Failure.ts"

const accountsKeysLedger = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Entries are read and written by account. WITHOUT ROWID makes SQLite store rows in the order of
  // the primary key, so the entries of an account are together.
  const clustered = sql.onDialectOrElse({
    sqlite: () => sql.literal("WITHOUT ROWID"),
    orElse: () => sql.literal(""),
  })
  yield* sql`
    CREATE TABLE accounts (
      id TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      created_at BIGINT NOT NULL
    )`
  yield* sql`
    CREATE TABLE api_keys (
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
  yield* sql`CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at)`
  yield* sql`
    CREATE TABLE balances (
      account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
      granted BIGINT NOT NULL,
      charged BIGINT NOT NULL,
      held BIGINT NOT NULL,
      entries BIGINT NOT NULL,
      head TEXT NOT NULL,
      CHECK (charged >= 0 AND held >= 0 AND charged + held <= granted)
    ) ${clustered}`
  yield* sql`
    CREATE TABLE holds (
      request_id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      amount BIGINT NOT NULL CHECK (amount > 0),
      expires_at BIGINT NOT NULL
    ) ${clustered}`
  yield* sql`
    CREATE TABLE entries (
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
    CREATE TABLE receipts (
      account_id TEXT NOT NULL REFERENCES accounts (id),
      key TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      request_id TEXT NOT NULL,
      body TEXT,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (account_id, key)
    )`
  yield* sql`CREATE INDEX receipts_by_expiry ON receipts (expires_at)`
  yield* sql`CREATE INDEX holds_by_expiry ON holds (expires_at)`
})

const figures = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE figures (
      provider TEXT NOT NULL,
      page TEXT NOT NULL,
      domain_authority DOUBLE PRECISION NOT NULL,
      page_authority DOUBLE PRECISION NOT NULL,
      spam_score DOUBLE PRECISION,
      fetched_at BIGINT NOT NULL,
      PRIMARY KEY (provider, page)
    )`
  yield* sql`CREATE INDEX figures_by_age ON figures (fetched_at)`
})

const rankings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = sql.onDialectOrElse({
    sqlite: () => sql.literal("WITHOUT ROWID"),
    orElse: () => sql.literal(""),
  })
  // One table contains the active list, the other table the list that is being imported.
  for (const table of ["ranks_0", "ranks_1"]) {
    yield* sql`
      CREATE TABLE ${sql.literal(table)} (
        name TEXT NOT NULL PRIMARY KEY,
        rank BIGINT NOT NULL
      ) ${clustered}`
  }
  yield* sql`
    CREATE TABLE ranking (
      id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
      list BIGINT CHECK (list IN (0, 1)),
      importing BIGINT
    )`
})

const processes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE processes (
      id TEXT NOT NULL PRIMARY KEY,
      beats BIGINT NOT NULL
    )`
  // The process that opened the hold. Null when no Heartbeat watches the process; the hold then
  // ends with its lease.
  yield* sql`ALTER TABLE holds ADD COLUMN owner TEXT`
})

const origins = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE figures ADD COLUMN vendor_index TEXT`
  yield* sql`ALTER TABLE figures ADD COLUMN of_domain TEXT`
})

const imports = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Name of the list in use, and when it was imported.
  yield* sql`ALTER TABLE ranking ADD COLUMN name TEXT`
  yield* sql`ALTER TABLE ranking ADD COLUMN imported_at BIGINT`
})

const observations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = sql.onDialectOrElse({
    sqlite: () => sql.literal("WITHOUT ROWID"),
    orElse: () => sql.literal(""),
  })
  // Since when the figures are the same. Null: since `fetched_at`.
  yield* sql`ALTER TABLE figures ADD COLUMN since BIGINT`
  yield* sql`
    CREATE TABLE observations (
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
  yield* sql`CREATE INDEX observations_by_age ON observations (stored_at)`
  yield* sql.onDialectOrElse({
    sqlite: () => sql`
      CREATE TRIGGER figures_changed BEFORE UPDATE ON figures
      WHEN NEW.since IS NULL AND OLD.fetched_at < NEW.fetched_at
      BEGIN ${replaced(sql)} END`,
    orElse: () =>
      Effect.zipRight(
        sql`
          CREATE FUNCTION keep_figures() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN ${replaced(sql)} RETURN NEW; END $$`,
        sql`
          CREATE TRIGGER figures_changed BEFORE UPDATE ON figures
          FOR EACH ROW WHEN (NEW.since IS NULL AND OLD.fetched_at < NEW.fetched_at)
          EXECUTE FUNCTION keep_figures()`,
      ),
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
    CREATE TABLE budgets (
      id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      credits BIGINT NOT NULL CHECK (credits > 0),
      period TEXT NOT NULL CHECK (period IN ('day', 'month', 'total')),
      since BIGINT NOT NULL
    )`
  yield* sql`CREATE INDEX budgets_by_account ON budgets (account_id)`
  yield* sql`
    CREATE TABLE budget_uses (
      budget_id TEXT NOT NULL REFERENCES budgets (id),
      start BIGINT NOT NULL,
      charged BIGINT NOT NULL CHECK (charged >= 0),
      held BIGINT NOT NULL CHECK (held >= 0),
      holds BIGINT NOT NULL CHECK (holds >= 0),
      PRIMARY KEY (budget_id, start)
    )`
  // The number of budgets of the account, so that a commit without budgets does not look for them.
  yield* sql`ALTER TABLE balances ADD COLUMN budgets BIGINT NOT NULL DEFAULT 0`
  // The keys that replace each other share a budget.
  yield* sql`ALTER TABLE api_keys ADD COLUMN budget_id TEXT REFERENCES budgets (id)`
  yield* sql`ALTER TABLE holds ADD COLUMN api_key_id TEXT`
  yield* sql`ALTER TABLE holds ADD COLUMN held_at BIGINT`
  yield* sql.onDialectOrElse({
    sqlite: () => rebuildEntries(sql),
    orElse: () => sql`
      ALTER TABLE entries
        ADD COLUMN api_key_id TEXT,
        ADD COLUMN held_at BIGINT,
        DROP CONSTRAINT entries_kind_check,
        ADD CONSTRAINT entries_kind_check CHECK (kind IN ('grant', 'charge', 'correction'))`,
  })
})

/** SQLite cannot change the CHECK of a column, so the rows move to a new table. */
const rebuildEntries = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    yield* sql`
      CREATE TABLE new_entries (
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
    yield* sql`CREATE UNIQUE INDEX entries_by_request ON entries (request_id)`
  })

const scopes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'check,read'`
  yield* sql`ALTER TABLE accounts ADD COLUMN suspended_at BIGINT`
})

const auditLog = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE audit_log (
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
  yield* sql`CREATE INDEX audit_log_by_row ON audit_log (row_table, row_id, sequence)`
  yield* sql`
    CREATE TABLE audit_head (
      id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
      entries BIGINT NOT NULL,
      head TEXT NOT NULL
    )`
  // The acts under the idempotency keys of the HTTP administration.
  yield* sql`
    CREATE TABLE act_requests (
      request_key TEXT NOT NULL,
      action TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      row_id TEXT,
      PRIMARY KEY (request_key, action)
    )`
  yield* sql`INSERT INTO audit_head (id, entries, head) VALUES (1, 0, ${genesisHash})`
  yield* beginLog(sql)
})

const usage = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = sql.onDialectOrElse({
    sqlite: () => sql.literal("WITHOUT ROWID"),
    orElse: () => sql.literal(""),
  })
  // `day` counts the days since 1970-01-01. `api_key_id` is empty for requests that name no key.
  yield* sql`
    CREATE TABLE usage (
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
  yield* sql`CREATE INDEX usage_by_day ON usage (day)`
})

const purchases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = sql.onDialectOrElse({
    sqlite: () => sql.literal("WITHOUT ROWID"),
    orElse: () => sql.literal(""),
  })
  // `day` counts the days since 1970-01-01. `cost` is in millionths of the vendor's currency.
  yield* sql`
    CREATE TABLE purchase_days (
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
    CREATE TABLE purchases (
      id TEXT NOT NULL PRIMARY KEY,
      provider TEXT NOT NULL,
      at BIGINT NOT NULL,
      targets BIGINT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('unknown', 'answered', 'failed')),
      rows_bought BIGINT,
      cost BIGINT,
      is_reported BIGINT
    ) ${clustered}`
  yield* sql`CREATE INDEX purchases_by_time ON purchases (at)`
  // A commit that changes purchases of a vendor locks the vendor's row.
  yield* sql`
    CREATE TABLE vendors (
      name TEXT NOT NULL PRIMARY KEY,
      paused_until BIGINT NOT NULL
    )`
})

const vendorReadings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = sql.onDialectOrElse({
    sqlite: () => sql.literal("WITHOUT ROWID"),
    orElse: () => sql.literal(""),
  })
  // `used` and `cost` are in millionths, unless `used` counts rows. `day` is null on demand.
  yield* sql`
    CREATE TABLE vendor_readings (
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
  yield* sql`CREATE UNIQUE INDEX vendor_readings_by_day ON vendor_readings (provider, day)`
})

const claims = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clustered = sql.onDialectOrElse({
    sqlite: () => sql.literal("WITHOUT ROWID"),
    orElse: () => sql.literal(""),
  })
  // The pages whose figures a process is buying.
  yield* sql`
    CREATE TABLE claims (
      provider TEXT NOT NULL,
      page TEXT NOT NULL,
      owner TEXT NOT NULL,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (provider, page)
    ) ${clustered}`
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
}

/** The number of the newest migration that this program knows. */
export const newest = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

const Applied = Schema.Struct({ newest: Schema.NullOr(Schema.Int) })

/**
 * The number of the newest migration that was applied to the database; 0 when none was. Fails when
 * the table of migrations does not exist.
 */
export const applied = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  SqlSchema.single({
    Request: Schema.Void,
    Result: Applied,
    execute: () => sql`SELECT MAX(migration_id) AS newest FROM effect_sql_migrations`,
  })(undefined),
).pipe(Effect.map(({ newest }) => newest ?? 0))

const migrate = Migrator.make({})({ loader: Migrator.fromRecord(migrations) }).pipe(
  Effect.catchAllDefect(Effect.fail),
  Effect.retry({ times: 3, schedule: Schedule.spaced("200 millis") }),
)

// True when the newest migration was applied, so that the start needs no migration lock. This SQL
// text must differ from the text in `applied`. If the table is missing, the SQLite client caches
// the error for this text, and would return the error to `applied` even after the table was
// created.
const isDone = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`SELECT 1 FROM effect_sql_migrations WHERE migration_id >= ${newest} LIMIT 1`,
).pipe(
  Effect.map((rows) => rows.length > 0),
  Effect.catchAll((error) => (Failure.isForbidden(error) ? error : Effect.succeed(false))),
)

// Describes an error of the migration. If the database role has no permission to migrate an older
// schema, the message names this cause.
const explain = (error: unknown) =>
  Effect.orElseSucceed(applied, () => 0).pipe(
    Effect.flatMap((version) =>
      Failure.isForbidden(error) && version > 0
        ? new StoreFailure({
            message: `the database has schema ${version}, but this program needs schema ${newest}, and the database role has no right to migrate the database; to migrate, set AUTHORITY_DATABASE_URL to a connection string with the role that owns the tables, and run 'authority migrate' (${Failure.wordsOf(error)})`,
            cause: error,
          })
        : Failure.describe(error),
    ),
  )

/** Fails with StoreFailure when the database's schema is older or newer than this program's. */
export const required = Effect.flatMap(applied, (version) =>
  version === newest
    ? Effect.void
    : new StoreFailure({
        message:
          version < newest
            ? `the database is of an older version (schema ${version}) than this program (schema ${newest}); update the service, which migrates the database, or run 'authority migrate'`
            : `the database is of a newer version (schema ${version}) than this program (schema ${newest}); update the program, or restore a backup from before the update`,
      }),
).pipe(Effect.mapError(Failure.describe))

/**
 * Migrates the database to the newest schema, and returns the former schema version. Fails with StoreFailure when the database is newer
 * than the program. When several processes start at once, one migrates while the others wait. On a
 * new database, two processes may create the first table at once: one of them fails and retries.
 */
export const run = Effect.unlessEffect(Effect.catchAll(migrate, explain), isDone).pipe(
  Effect.zipLeft(required),
  Effect.mapBoth({
    onSuccess: Option.match({
      onNone: () => newest,
      onSome: ([first]) => (first === undefined ? newest : first[0] - 1),
    }),
    onFailure: Failure.describe,
  }),
)

/** Migrates the database to the newest schema before a store opens. */
export const layer = Layer.effectDiscard(run)
