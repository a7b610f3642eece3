/**
 * This version runs on a database that an older version wrote: the books verify, keys work, stored
 * answers are replayed. Stored answers last for a day, so loading renews their end.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Accounts } from "../../src/Account.ts"
import { CreditLedger } from "../../src/CreditLedger.ts"
import { folder, run, serve } from "../support/Program.ts"
import { postgresDatabase, sqliteFile, temporaryDatabase } from "../support/Stores.ts"
import { eventually, request } from "../../scripts/support/RawHttp.ts"

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

const textOf = (dialect: "sqlite" | "postgres") =>
  `${read(`47bc1c2.${dialect}.sql`)}
UPDATE receipts SET expires_at = ${Date.now() + hourMs} WHERE body IS NOT NULL;`

/** Load the old data into a new database and return its URL. */
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

/** Runs the program on a new copy of the older database. */
const program = (dialect: "sqlite" | "postgres") =>
  Effect.gen(function* () {
    const cwd = yield* folder
    const { stores, url } = yield* databases[dialect](cwd)
    const settings = { AUTHORITY_DATABASE_URL: url }
    return {
      serve: serve(cwd, settings),
      verify: Effect.flatMap(run(cwd, ["credits", "verify", "--json"], settings), ({ stdout }) =>
        Schema.decode(Schema.parseJson(Verified))(stdout),
      ),
      /** Every balance, read in this process. */
      balances: Effect.gen(function* () {
        const accounts = yield* Accounts
        const ledger = yield* CreditLedger
        return yield* Effect.forEach(recorded[dialect].balances, ({ account }) =>
          Effect.flatMap(accounts.find(account), ({ id }) => ledger.balance(id)),
        )
      }).pipe(Effect.provide(stores)),
    }
  })

const Verified = Schema.Struct({
  ok: Schema.Boolean,
  accounts: Schema.Int,
  problems: Schema.Array(Schema.Unknown),
})

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

  describe(`a ${dialect} database that an earlier version wrote`, () => {
    it.scopedLive(
      "the books and balances of an earlier version's database are valid and unchanged",
      () =>
        Effect.gen(function* () {
          const old = yield* program(dialect)
          const verified = yield* old.verify
          assert.deepStrictEqual(verified, { ok: true, accounts: balances.length, problems: [] })
          assert.deepStrictEqual(
            (yield* old.balances).map(({ charged, granted }) => ({
              charged,
              granted,
            })),
            balances.map(({ charged, granted }) => ({
              charged,
              granted,
            })),
          )
        }),
    )

    it.scopedLive(
      "API keys from an earlier version work, except for expired and revoked keys",
      () =>
        Effect.gen(function* () {
          const { url } = yield* (yield* program(dialect)).serve
          for (const { key, name, works } of apiKeys) {
            const { status } = yield* request(url, {
              path: "/v1/quota/available-credits",
              headers: { "x-api-key": key },
            })
            assert.strictEqual(status, works ? 200 : 401, name)
          }
        }),
    )

    it.scopedLive(
      "answers that an earlier version stored are replayed byte for byte without a charge",
      () =>
        Effect.gen(function* () {
          const old = yield* program(dialect)
          const { url } = yield* old.serve
          for (const stored of answers) {
            const { headers, status, text } = yield* send(url, stored, stored.body)
            assert.strictEqual(status, 200, stored.idempotencyKey)
            assert.strictEqual(text, stored.answer)
            assert.strictEqual(headers["content-type"], stored.contentType)
            if (!isOnlyInvalid(stored)) assert.strictEqual(headers["idempotent-replayed"], "true")
          }
          assert.deepStrictEqual(
            (yield* old.balances).map(({ charged }) => Number(charged)),
            balances.map(({ charged }) => charged),
          )
        }),
    )

    it.scopedLive("an idempotency key from an earlier version gets 422 with another body", () =>
      Effect.gen(function* () {
        const { url } = yield* (yield* program(dialect)).serve
        for (const stored of answers.filter((answer) => !isOnlyInvalid(answer))) {
          const { status } = yield* send(url, stored, '{"urls":["another.example.com"]}')
          assert.strictEqual(status, 422, stored.idempotencyKey)
        }
      }),
    )

    it.scopedLive(
      "holds of an earlier version's killed requests are released, and repeats are answered",
      () =>
        Effect.gen(function* () {
          const old = yield* program(dialect)
          const { url } = yield* old.serve
          yield* eventually(
            "nothing is held",
            Effect.map(old.balances, (now) => now.every(({ held }) => Number(held) === 0)),
          )

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
          const total = (of: ReadonlyArray<{ readonly charged: number }>) =>
            of.reduce((sum, { charged }) => sum + charged, 0)
          assert.strictEqual(total(yield* old.balances), total(balances) + 3)
          assert.deepInclude(yield* old.verify, { ok: true, problems: [] })
        }),
    )
  })
}

const Answer = Schema.Struct({ quota: Schema.Struct({ creditsUsed: Schema.Int }) })
