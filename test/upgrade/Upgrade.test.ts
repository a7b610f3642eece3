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
import { folder, run, serve } from "../support/Program.ts"
import { temporaryDatabase } from "../support/Stores.ts"
import { request } from "../../scripts/support/Wire.ts"

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
      const database = new Database(join(cwd, "old.db"))
      database.exec(textOf("sqlite"))
      database.close()
      return "sqlite:old.db"
    }),
  postgres: () =>
    Effect.gen(function* () {
      const url = yield* temporaryDatabase
      yield* Effect.provide(
        Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(textOf("postgres"))),
        PgClient.layer({ url }),
      )
      return Redacted.value(url)
    }),
}

/** Runs the program on a new copy of the older database. */
const program = (dialect: "sqlite" | "postgres") =>
  Effect.gen(function* () {
    const cwd = yield* folder
    const settings = { AUTHORITY_DATABASE_URL: yield* databases[dialect](cwd) }
    const json = <A, I>(schema: Schema.Schema<A, I>, ...args: ReadonlyArray<string>) =>
      Effect.flatMap(run(cwd, [...args, "--json"], settings), ({ stdout }) =>
        Schema.decode(Schema.parseJson(schema))(stdout),
      )
    return {
      serve: serve(cwd, settings),
      verify: json(Verified, "credits", "verify"),
      balance: (account: string) => json(Balance, "credits", "balance", "--account", account),
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
          for (const was of balances) {
            const { available, charged, granted, held } = yield* old.balance(was.account)
            assert.deepStrictEqual(
              { charged, granted, availableOrHeld: available + held },
              {
                charged: was.charged,
                granted: was.granted,
                availableOrHeld: was.available + was.held,
              },
            )
          }
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
          for (const { account, charged } of balances) {
            assert.strictEqual((yield* old.balance(account)).charged, charged)
          }
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
          const held = Effect.map(
            Effect.forEach(balances, ({ account }) => old.balance(account)),
            (now) => now.reduce((sum, { held }) => sum + held, 0),
          )
          yield* Effect.repeat(held, { until: (credits) => credits === 0 })

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
          const now = yield* Effect.forEach(balances, ({ account }) => old.balance(account))
          assert.strictEqual(total(now), total(balances) + 3)
          assert.deepInclude(yield* old.verify, { ok: true, problems: [] })
        }),
    )
  })
}

const Answer = Schema.Struct({ quota: Schema.Struct({ creditsUsed: Schema.Int }) })
