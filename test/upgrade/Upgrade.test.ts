/**
 * This version runs on a database that an older version wrote: `credits verify` finds no problem,
 * API keys work, and stored answers are replayed. Stored answers expire after a day, so the test
 * sets a new expiry time when it loads the database.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as SqlClient from "@effect/sql/SqlClient"
import { grant } from "../../scripts/support/ledger.ts"
import { Accounts } from "../../src/Account.ts"
import { ApiKeys } from "../../src/ApiKeys.ts"
import { AuditLog } from "../../src/AuditLog.ts"
import { MetricsCache } from "../../src/MetricsCache.ts"
import * as SqlMetricsCache from "../../src/sql/MetricsCache.ts"
import { Purchases } from "../../src/Purchases.ts"
import * as SqlPurchases from "../../src/sql/Purchases.ts"
import { CreditLedger } from "../../src/CreditLedger.ts"
import { folder, serve } from "../support/Program.ts"
import { type Ports, postgresDatabase, sqliteFile, temporaryDatabase } from "../support/Stores.ts"
import { request } from "../../scripts/support/RawHttp.ts"
import { eventually } from "../../scripts/support/eventually.ts"

const Balance = Schema.Struct({
  account: Schema.String,
  available: Schema.Int,
  held: Schema.Int,
  granted: Schema.Int,
  charged: Schema.Int,
})

const Batch = { apiKey: Schema.String, body: Schema.String }

/** The answers and balances that were recorded with the older version. */
const Recorded = Schema.Struct({
  balances: Schema.Array(Balance),
  apiKeys: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      account: Schema.String,
      key: Schema.String,
      works: Schema.Boolean,
    }),
  ),
  answers: Schema.Array(
    Schema.Struct({
      ...Batch,
      idempotencyKey: Schema.String,
      contentType: Schema.String,
      answer: Schema.String,
    }),
  ),
  /** Requests that were running when the process was killed. */
  abandoned: Schema.Array(
    Schema.Struct({ ...Batch, idempotencyKey: Schema.optional(Schema.String) }),
  ),
})

const read = (file: string) => readFileSync(join(import.meta.dirname, file), "utf8")

const recorded = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({ sqlite: Recorded, postgres: Recorded })),
)(read("47bc1c2.json"))

const hourMs = 3_600_000

const cached = {
  provider: "moz",
  page: "example.com/",
  metrics: { domainAuthority: 49.29, pageAuthority: 40 },
  fetchedAt: 1,
}

const textOf = (dialect: "sqlite" | "postgres") =>
  `${read(`47bc1c2.${dialect}.sql`)}
INSERT INTO figures (provider, page, domain_authority, page_authority, fetched_at)
VALUES ('moz', 'example.com/', 49.29, 40, 1);
UPDATE receipts SET expires_at = ${Date.now() + hourMs} WHERE body IS NOT NULL;`

/** Loads the older version's data into a new database. Returns the database's URL and stores. */
const databases = {
  sqlite: (cwd: string) =>
    Effect.sync(() => {
      const file = join(cwd, "old.db")
      const database = new Database(file)
      database.exec(textOf("sqlite"))
      database.close()
      return { url: "sqlite:old.db", stores: sqliteFile(file) }
    }),
  postgres: () =>
    Effect.gen(function* () {
      const url = yield* temporaryDatabase
      yield* Effect.provide(
        Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(textOf("postgres"))),
        PgClient.layer({ url }),
      )
      return { url: Redacted.value(url), stores: postgresDatabase(url) }
    }),
}

/** The program on a copy of the older version's database. The tests of a dialect share the copy. */
class OldService extends Context.Tag("OldService")<
  OldService,
  {
    readonly url: string
    readonly stores: Layer.Layer<Ports | SqlClient.SqlClient, unknown>
  }
>() {}

const program = (dialect: "sqlite" | "postgres") =>
  Layer.scoped(
    OldService,
    Effect.gen(function* () {
      const cwd = yield* folder
      const { stores, url } = yield* databases[dialect](cwd)
      const service = yield* serve(cwd, { AUTHORITY_DATABASE_URL: url })
      return { url: service.url, stores }
    }),
  )

/** Reads the balance of each recorded account, without the running program. */
const balancesOf = (dialect: "sqlite" | "postgres") =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ledger = yield* CreditLedger
    return yield* Effect.forEach(recorded[dialect].balances, ({ account }) =>
      Effect.flatMap(accounts.find(account), ({ id }) => ledger.balance(id)),
    )
  })

const verify = Effect.flatMap(CreditLedger, (ledger) => ledger.verify)

const totalCharged = (balances: ReadonlyArray<{ readonly charged: number }>) =>
  balances.reduce((sum, { charged }) => sum + charged, 0)

const send = (
  url: string,
  batch: { readonly apiKey: string; readonly idempotencyKey?: string | undefined },
  body: string,
) =>
  request(url, {
    method: "POST",
    path: "/v1/metrics/da-pa/batch",
    headers: {
      "x-api-key": batch.apiKey,
      "content-type": "application/json",
      ...(batch.idempotencyKey !== undefined && { "idempotency-key": batch.idempotencyKey }),
    },
    body,
  })

/** This version stores no answer for a batch of only invalid URLs. */
const isOnlyInvalid = ({ idempotencyKey }: { readonly idempotencyKey: string }) =>
  idempotencyKey === "only-invalid"

for (const dialect of ["sqlite", "postgres"] as const) {
  const { abandoned, answers, apiKeys, balances } = recorded[dialect]

  layer(program(dialect), { excludeTestServices: true })(
    `a ${dialect} database that an earlier version wrote`,
    (it) => {
      it.scoped("figures that an earlier version cached stay in the cache", () =>
        Effect.gen(function* () {
          const { stores } = yield* databases[dialect](yield* folder)
          const kept = Effect.flatMap(MetricsCache, (cache) =>
            cache.get("moz", ["example.com/"], 0),
          )
          assert.deepStrictEqual(
            yield* Effect.provide(kept, Layer.provide(SqlMetricsCache.layer, stores)),
            [{ ...cached, index: undefined, of: undefined }],
          )
        }),
      )

      it.scoped(
        "a database that an earlier version wrote counts purchases from its first one",
        () =>
          Effect.gen(function* () {
            const { stores } = yield* databases[dialect](yield* folder)
            const sums = Effect.gen(function* () {
              const { close, days, open } = yield* Purchases
              const request = { provider: "moz", targets: 3, ceiling: 4 }
              const cost = { state: "answered", rows: 3, cost: 7, isReported: false } as const
              yield* close(yield* open(request), cost)
              assert.strictEqual((yield* open(request)).targets, 1)
              return yield* days({})
            })
            const [day] = yield* Effect.provide(sums, Layer.provide(SqlPurchases.layer, stores))
            assert.deepInclude(day, { calls: 2, rows: 3, cost: 7, unknownTargets: 1 })
          }),
      )

      it.scoped("figures that an earlier version cached are the first of their history", () =>
        Effect.gen(function* () {
          const { stores } = yield* databases[dialect](yield* folder)
          const observed = Effect.gen(function* () {
            const cache = yield* MetricsCache
            const bought = (fetchedAt: number, domainAuthority: number) => ({
              ...cached,
              metrics: { ...cached.metrics, domainAuthority },
              fetchedAt,
              index: undefined,
              of: undefined,
            })
            yield* cache.put([bought(2, 49.29)])
            yield* cache.put([bought(3, 50)])
            yield* cache.put([bought(4, 51)])
            return yield* cache.observations("example.com/", { since: 0, limit: 10 })
          })
          assert.deepStrictEqual(
            (yield* Effect.provide(observed, Layer.provide(SqlMetricsCache.layer, stores))).map(
              ({ fetchedAt, lastFetchedAt, metrics, ofVendor }) => [
                metrics.domainAuthority,
                fetchedAt,
                lastFetchedAt,
                ofVendor,
              ],
            ),
            [
              [51, 4, 4, false],
              [50, 3, 3, false],
              [49.29, 1, 2, false],
            ],
          )
        }),
      )

      it.scoped(
        "the balances and entries of an earlier version's database are valid and unchanged after an upgrade",
        () =>
          Effect.gen(function* () {
            const { stores } = yield* databases[dialect](yield* folder)
            const [verified, now] = yield* Effect.provide(
              Effect.all([verify, balancesOf(dialect)]),
              stores,
            )
            assert.deepInclude(verified, { accounts: balances.length, problems: [] })
            assert.deepStrictEqual(
              now.map(({ charged, granted }) => ({ charged, granted })),
              balances.map(({ charged, granted }) => ({ charged, granted })),
            )
          }),
      )

      it.scoped(
        "the audit log begins with what there was, and finds changes by hand since then",
        () =>
          Effect.gen(function* () {
            const { stores } = yield* databases[dialect](yield* folder)
            yield* Effect.gen(function* () {
              const log = yield* AuditLog
              const keys = yield* ApiKeys
              const sql = yield* SqlClient.SqlClient
              const accounts = yield* (yield* Accounts).list
              const [begin] = yield* log.list({ limit: 1 })
              assert.deepInclude(begin, { sequence: 1, action: "log.begin" })
              assert.strictEqual(begin?.detail["accounts"], accounts.length)
              assert.strictEqual(begin?.detail["keys"], apiKeys.length)
              assert.strictEqual(
                begin?.detail["granted"],
                String(balances.reduce((sum, { granted }) => sum + granted, 0)),
              )
              assert.deepStrictEqual(yield* log.verify, { lines: 1, problems: [] })

              const account = accounts[0]?.id ?? assert.fail("no account")
              const [old] = yield* keys.list(account)
              const id = old?.id ?? assert.fail("no key")
              yield* keys.revoke(id)
              yield* grant(account, 5)
              assert.deepStrictEqual((yield* log.verify).problems, [])
              yield* sql`UPDATE api_keys SET revoked_at = NULL, hash = 'other' WHERE id = ${id}`
              yield* sql`UPDATE balances SET granted = granted + 1 WHERE account_id = ${account}`
              const { problems } = yield* log.verify
              assert.strictEqual(problems.length, 2)
              assert.match(problems[0] ?? "", new RegExp(`^key ${id}: its (hash|revoked_at) was`))
              assert.match(problems[1] ?? "", /^the audit log began with \d+ granted credits, but/)
            }).pipe(Effect.provide(stores))
          }),
      )

      it.effect(
        "API keys from an earlier version are valid, except for expired and revoked keys",
        () =>
          Effect.gen(function* () {
            const { url } = yield* OldService
            for (const { key, name, works } of apiKeys) {
              const { status } = yield* request(url, {
                path: "/v1/quota/available-credits",
                headers: { "x-api-key": key },
              })
              assert.strictEqual(status, works ? 200 : 401, name)
            }
          }),
      )

      it.effect(
        "answers that an earlier version stored are replayed byte for byte without a charge",
        () =>
          Effect.gen(function* () {
            const { stores, url } = yield* OldService
            const former = yield* Effect.provide(balancesOf(dialect), stores)
            for (const stored of answers) {
              const { headers, status, text } = yield* send(url, stored, stored.body)
              assert.strictEqual(status, 200, stored.idempotencyKey)
              assert.strictEqual(text, stored.answer)
              assert.strictEqual(headers["content-type"], stored.contentType)
              if (!isOnlyInvalid(stored)) assert.strictEqual(headers["idempotent-replayed"], "true")
            }
            const now = yield* Effect.provide(balancesOf(dialect), stores)
            assert.strictEqual(totalCharged(now), totalCharged(former))
          }),
      )

      it.effect(
        "an idempotency key from an earlier version gets 422 when it is sent with another request body",
        () =>
          Effect.gen(function* () {
            const { url } = yield* OldService
            for (const stored of answers.filter((answer) => !isOnlyInvalid(answer))) {
              const { status } = yield* send(url, stored, '{"urls":["another.example.com"]}')
              assert.strictEqual(status, 422, stored.idempotencyKey)
            }
          }),
      )

      it.effect(
        "holds that an earlier version left open when it was killed are released, and if the client repeats the request of such a hold, the request is answered and charged",
        () =>
          Effect.gen(function* () {
            const { stores, url } = yield* OldService
            yield* Effect.gen(function* () {
              yield* eventually(
                "nothing is held",
                Effect.map(balancesOf(dialect), (now) =>
                  now.every(({ held }) => Number(held) === 0),
                ),
              )
              const former = yield* balancesOf(dialect)
              const charges = yield* Effect.forEach(
                abandoned,
                Effect.fnUntraced(function* (batch) {
                  const { headers, status, text } = yield* send(url, batch, batch.body)
                  assert.strictEqual(status, 200, text)
                  assert.isUndefined(headers["idempotent-replayed"])
                  return (yield* Schema.decode(Schema.parseJson(Answer))(text)).quota.creditsUsed
                }),
                { concurrency: "unbounded" },
              )
              assert.deepStrictEqual(charges, [2, 1])
              assert.strictEqual(totalCharged(yield* balancesOf(dialect)), totalCharged(former) + 3)
              assert.deepStrictEqual((yield* verify).problems, [])
            }).pipe(Effect.provide(stores))
          }),
      )
    },
  )
}

const Answer = Schema.Struct({ quota: Schema.Struct({ creditsUsed: Schema.Int }) })
