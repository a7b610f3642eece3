/**
 * This version runs on a database that an older version wrote: `credits verify` finds no problem,
 * API keys work, and stored answers are replayed. Stored answers expire after a day, so the test
 * sets a new expiry time when it loads the database.
 *
 * 8b50055 is the last 1.1.0, with schema 16: once with a new database, and once with a database of
 * schema 4, from 47bc1c2, which it migrated.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it, layer } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as SqlClient from "@effect/sql/SqlClient"
import { grant } from "../../scripts/support/ledger.ts"
import { Accounts } from "../../src/accounts/Account.ts"
import { ApiKeyId } from "../../src/accounts/ApiKey.ts"
import { AuditLog } from "../../src/accounts/AuditLog.ts"
import { Costs } from "../../src/providers/costs/Costs.ts"
import * as SqlCosts from "../../src/providers/costs/SqlCosts.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { available } from "../../src/ledger/Balance.ts"
import { folder, serve } from "../support/Program.ts"
import { type Ports, postgresDatabase, sqliteFile, temporaryDatabase } from "../support/Stores.ts"
import { request } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

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
      /** The status of a request for the available credits. */
      status: Schema.Int,
    }),
  ),
  answers: Schema.Array(
    Schema.Struct({
      ...Batch,
      idempotencyKey: Schema.String,
      prefer: Schema.optional(Schema.String),
      contentType: Schema.String,
      preferenceApplied: Schema.optional(Schema.String),
      answer: Schema.String,
    }),
  ),
  /** Requests that were in flight when the process was killed. */
  abandoned: Schema.Array(
    Schema.Struct({ ...Batch, idempotencyKey: Schema.optional(Schema.String) }),
  ),
  entries: Schema.Int,
  auditLines: Schema.Int,
  /** The budgets without a period, and what was charged and held under them. */
  budgets: Schema.Array(Schema.Struct({ key: ApiKeyId, credits: Schema.Int, used: Schema.Int })),
  /** The purchases of the day on which the older version ran. */
  purchases: Schema.Array(
    Schema.Struct({
      provider: Schema.String,
      calls: Schema.Int,
      targets: Schema.Int,
      rows: Schema.Int,
      cost: Schema.Int,
      unknownCalls: Schema.Int,
    }),
  ),
  usage: Schema.Array(
    Schema.Struct({
      account: Schema.String,
      checks: Schema.Int,
      credits: Schema.Int,
      known: Schema.Int,
    }),
  ),
})

const read = (file: string) => readFileSync(join(import.meta.dirname, file), "utf8")

type Dialect = "sqlite" | "postgres"

const dialects: ReadonlyArray<Dialect> = ["sqlite", "postgres"]

const recordedIn = (dump: string, dialect: Dialect) =>
  Schema.decodeUnknownSync(
    Schema.parseJson(Schema.Struct({ sqlite: Recorded, postgres: Recorded })),
  )(read(`${dump}.json`))[dialect]

const hourMs = 3_600_000

const textOf = (dump: string, dialect: Dialect) =>
  `${read(`${dump}.${dialect}.sql`)}
UPDATE receipts SET expires_at = ${Date.now() + hourMs} WHERE body IS NOT NULL;`

/** Loads the older version's data into a new database. Returns the database's URL and stores. */
const databases = {
  sqlite: (dump: string, cwd: string) =>
    Effect.sync(() => {
      const file = join(cwd, "old.db")
      const database = new Database(file)
      database.exec(textOf(dump, "sqlite"))
      database.close()
      return { url: "sqlite:old.db", stores: sqliteFile(file) }
    }),
  postgres: (dump: string) =>
    Effect.gen(function* () {
      const url = yield* temporaryDatabase
      yield* Effect.provide(
        Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(textOf(dump, "postgres"))),
        PgClient.layer({ url }),
      )
      return { url: Redacted.value(url), stores: postgresDatabase(url) }
    }),
}

/** The program on a copy of the older version's database. All tests of a dialect share the copy. */
class OldService extends Context.Tag("OldService")<
  OldService,
  {
    readonly url: string
    readonly stores: Layer.Layer<Ports | SqlClient.SqlClient, unknown>
  }
>() {}

const program = (dump: string, dialect: Dialect) =>
  Layer.scoped(
    OldService,
    Effect.gen(function* () {
      const cwd = yield* folder
      const { stores, url } = yield* databases[dialect](dump, cwd)
      const service = yield* serve(cwd, { AUTHORITY_DATABASE_URL: url })
      return { url: service.url, stores }
    }),
  )

/** Reads the balance of each recorded account, without the running program. */
const balancesOf = (recorded: ReadonlyArray<typeof Balance.Type>) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ledger = yield* CreditLedger
    return yield* Effect.forEach(recorded, ({ account }) =>
      Effect.gen(function* () {
        const { id } = yield* accounts.find(account)
        const { charged, granted, held } = yield* ledger.balance(id)
        const left = available({ charged, granted, held })
        return { account, available: left, held, granted, charged }
      }),
    )
  })

const verify = Effect.flatMap(CreditLedger, (ledger) => ledger.verify)

const totalCharged = (balances: ReadonlyArray<{ readonly charged: number }>) =>
  balances.reduce((sum, { charged }) => sum + charged, 0)

const send = (
  url: string,
  batch: {
    readonly apiKey: string
    readonly idempotencyKey?: string | undefined
    readonly prefer?: string | undefined
  },
  body: string,
) =>
  request(url, {
    method: "POST",
    path: "/v1/metrics/da-pa/batch",
    headers: {
      "x-api-key": batch.apiKey,
      "content-type": "application/json",
      ...(batch.idempotencyKey !== undefined && { "idempotency-key": batch.idempotencyKey }),
      ...(batch.prefer !== undefined && { prefer: batch.prefer }),
    },
    body,
  })

/** This version stores no answer for a batch of only invalid URLs. */
const isOnlyInvalid = ({ idempotencyKey }: { readonly idempotencyKey: string }) =>
  idempotencyKey === "only-invalid"

for (const dump of ["8b50055-new", "8b50055-upgraded"]) {
  for (const dialect of dialects) {
    const recorded = recordedIn(dump, dialect)
    const { abandoned, answers, apiKeys, balances } = recorded

    layer(program(dump, dialect), { excludeTestServices: true })(
      `the ${dialect} database ${dump}, which an earlier version wrote`,
      (it) => {
        it.scoped(
          "the balances and entries of an earlier version's database are valid and unchanged after an upgrade",
          () =>
            Effect.gen(function* () {
              const { stores } = yield* databases[dialect](dump, yield* folder)
              const [verified, now] = yield* Effect.provide(
                Effect.all([verify, balancesOf(balances)]),
                stores,
              )
              assert.deepInclude(verified, { accounts: balances.length, problems: [] })
              assert.deepStrictEqual(now, balances)
            }),
        )

        it.effect("API keys from an earlier version are accepted or refused as before", () =>
          Effect.gen(function* () {
            const { url } = yield* OldService
            for (const { key, name, status: expected } of apiKeys) {
              const { status } = yield* request(url, {
                path: "/v1/quota/available-credits",
                headers: { "x-api-key": key },
              })
              assert.strictEqual(status, expected, name)
            }
          }),
        )

        it.effect(
          "answers that an earlier version stored are replayed byte for byte without a charge",
          () =>
            Effect.gen(function* () {
              const { stores, url } = yield* OldService
              const former = yield* Effect.provide(balancesOf(balances), stores)
              for (const stored of answers) {
                const { headers, status, text } = yield* send(url, stored, stored.body)
                assert.strictEqual(status, 200, stored.idempotencyKey)
                assert.strictEqual(text, stored.answer)
                assert.strictEqual(headers["content-type"], stored.contentType)
                assert.strictEqual(headers["preference-applied"], stored.preferenceApplied)
                if (!isOnlyInvalid(stored))
                  assert.strictEqual(headers["idempotent-replayed"], "true")
              }
              const now = yield* Effect.provide(balancesOf(balances), stores)
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
                  Effect.map(balancesOf(balances), (now) =>
                    now.every(({ held }) => Number(held) === 0),
                  ),
                )
                const former = yield* balancesOf(balances)
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
                assert.strictEqual(
                  totalCharged(yield* balancesOf(balances)),
                  totalCharged(former) + 3,
                )
                assert.deepStrictEqual((yield* verify).problems, [])
              }).pipe(Effect.provide(stores))
            }),
        )
      },
    )

    describe(`the ${dialect} database ${dump}, of schema 16`, () => {
      it.scopedLive("after an upgrade, the entries are valid, and the audit log continues", () =>
        Effect.gen(function* () {
          const { stores } = yield* databases[dialect](dump, yield* folder)
          yield* Effect.gen(function* () {
            assert.deepInclude(yield* verify, { entries: recorded.entries, problems: [] })
            const log = yield* AuditLog
            const [account = assert.fail("no account")] = yield* (yield* Accounts).list
            yield* grant(account.id, 5)
            const lines = yield* log.list({ limit: 1000 })
            assert.deepStrictEqual(
              lines.map(({ sequence }) => sequence).reverse(),
              Array.from({ length: recorded.auditLines + 1 }, (_, i) => i + 1),
            )
            assert.deepInclude(lines[0], { action: "credits.grant", subject: account.name })
            assert.strictEqual(lines.at(-1)?.action, "log.begin")
          }).pipe(Effect.provide(stores))
        }),
      )

      it.scopedLive("after an upgrade, budgets count what was charged and is held", () =>
        Effect.gen(function* () {
          const { stores } = yield* databases[dialect](dump, yield* folder)
          const ids = recorded.budgets.map(({ key }) => key)
          const budgets = Effect.flatMap(CreditLedger, (ledger) => ledger.budgets(ids))
          const spent = yield* Effect.provide(budgets, stores)
          assert.isAbove(ids.length, 0)
          for (const { credits, key, used } of recorded.budgets) {
            assert.strictEqual(spent.get(key)?.used, used)
            assert.strictEqual(spent.get(key)?.remaining, credits - used)
          }
        }),
      )

      it.scopedLive("after an upgrade, usage is counted as before", () =>
        Effect.gen(function* () {
          const { stores } = yield* databases[dialect](dump, yield* folder)
          yield* Effect.gen(function* () {
            const accounts = yield* Accounts
            const ledger = yield* CreditLedger
            for (const { account, ...sums } of recorded.usage) {
              const { id } = yield* accounts.find(account)
              const [row] = yield* ledger.usage({ by: "account", account: id })
              assert.deepInclude(row ?? { checks: 0, credits: 0, known: 0 }, sums)
            }
          }).pipe(Effect.provide(stores))
        }),
      )

      it.scopedLive("after an upgrade, the sums of what vendor calls cost are kept", () =>
        Effect.gen(function* () {
          const { stores } = yield* databases[dialect](dump, yield* folder)
          const days = Effect.flatMap(Costs, (costs) => costs.days({}))
          const now = yield* Effect.provide(days, Layer.provide(SqlCosts.layer, stores))
          assert.deepStrictEqual(
            now.map((one) => [one.provider, one.calls, one.rows, one.cost, one.unanswered]),
            recorded.purchases.map((one) => [
              one.provider,
              one.calls,
              one.rows,
              one.cost,
              one.unknownCalls,
            ]),
          )
        }),
      )
    })
  }
}

const Answer = Schema.Struct({ quota: Schema.Struct({ creditsUsed: Schema.Int }) })
