/**
 * Measures how many hold and settle operations per second each store completes for one account,
 * when `--concurrency` hold/settle pairs run at a time and can share transactions. Fails unless the
 * final balance is exact and the ledger passes its audit. Before and after, measures a baseline on
 * the same store: one operation at a time, each in its own transaction. Prints the ratio of the two
 * speeds. If the computer has other load, only this ratio is meaningful. Tracing is off, as in a
 * service that exports no traces.
 *
 *     node scripts/bench-ledger.ts [--pairs 1000000] [--concurrency 64]
 *       [--stores sqlite,postgres]
 */
import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { AccountId, Accounts } from "../src/accounts/Account.ts"
import { CreditLedger } from "../src/ledger/CreditLedger.ts"
import * as SqlCreditLedger from "../src/ledger/SqlCreditLedger.ts"
import * as SqlAccounts from "../src/accounts/SqlAccounts.ts"
import * as Migrations from "../src/database/migrations/migrate.ts"
import * as PostgresClient from "../src/database/Postgres.ts"
import * as Sqlite from "../src/database/Sqlite.ts"
import { newAccountWith } from "./support/accounts.ts"
import { credits, figures, newHold, problemsOf } from "./support/ledger.ts"
import * as Postgres from "./support/Postgres.ts"

const { values: options } = parseArgs({
  options: {
    pairs: { type: "string", default: "1000000" },
    concurrency: { type: "string", default: "64" },
    stores: { type: "string", default: "sqlite,postgres" },
  },
})
const pairs = Number(options.pairs)
const concurrency = Number(options.concurrency)
/**
 * The number of hold/settle pairs in the baseline, which runs one operation at a time, each in its
 * own transaction. Half of these pairs run before the concurrent pairs, half after.
 */
const baselinePairs = Math.min(2000, Math.max(100, Math.floor(pairs / 50)))
/** The number of holds that are charged in `count` hold/settle pairs: every second hold. */
const charged = (count: number) => Math.floor(count / 2)

/** Runs hold/settle pairs. Returns operations per second. A pair counts as two operations. */
const rate = <R>(count: number, pair: (i: number) => Effect.Effect<void, unknown, R>) =>
  Effect.gen(function* () {
    const start = performance.now()
    yield* Effect.forEach(Array(count).keys(), pair, { concurrency, discard: true })
    return (2 * count) / ((performance.now() - start) / 1000)
  })

const bench = (account: AccountId) =>
  Effect.gen(function* () {
    const ledger = yield* CreditLedger
    const oneByOne = yield* Effect.makeSemaphore(1)
    const pairWith =
      (apart: <A, E>(operation: Effect.Effect<A, E>) => Effect.Effect<A, E>) => (i: number) => {
        const hold = newHold(account, 1)
        return Effect.zipRight(
          apart(ledger.open(hold)),
          apart(ledger.settle(hold, { amount: credits(i % 2), urls: i % 2 })),
        )
      }
    const alone = rate(baselinePairs / 2, pairWith(oneByOne.withPermits(1)))

    const before = yield* alone
    const together = yield* rate(
      pairs,
      pairWith((operation) => operation),
    )
    const after = yield* alone
    return { together, alone: (before + after) / 2 }
  })

type Ports = Accounts | CreditLedger

const run = (name: string, store: Layer.Layer<Ports, unknown>) =>
  Effect.gen(function* () {
    const total = pairs + baselinePairs
    const account = yield* newAccountWith(total)
    const { alone, together } = yield* bench(account)
    const spent = charged(pairs) + 2 * charged(baselinePairs / 2)
    assert.deepEqual(yield* figures(account), {
      granted: total,
      charged: spent,
      held: 0,
      available: total - spent,
    })
    assert.deepEqual(yield* problemsOf(account), [])
    console.log(
      `${name}: ${pairs} pairs, ${concurrency} at a time: balance exact, ledger verified; ` +
        `${together.toFixed(0)} operations/s, ${alone.toFixed(0)} with one transaction each: ` +
        `ratio ${(together / alone).toFixed(1)}`,
    )
  }).pipe(Effect.provide(store), Effect.withTracerEnabled(false), Effect.runPromise)

const sqlite = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "authority-bench-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
).pipe(
  Effect.map((folder) => Sqlite.layer(join(folder, "authority.db"))),
  Layer.unwrapScoped,
)
const postgres = Effect.acquireRelease(
  Effect.promise(() => Postgres.start({ durable: true })),
  ({ destroy }) => Effect.promise(destroy),
).pipe(
  Effect.map(({ url }) => PostgresClient.layer(Redacted.make(`${url}/postgres`))),
  Layer.unwrapScoped,
)

const ledger = Layer.merge(SqlAccounts.layer, SqlCreditLedger.layer({ lease: "1 hour" })).pipe(
  Layer.provideMerge(Migrations.layer),
)

const benches: Record<string, () => Promise<void>> = {
  sqlite: () => run("SQLite", Layer.provide(ledger, sqlite)),
  postgres: () => run("PostgreSQL", Layer.provide(ledger, postgres)),
}

for (const store of options.stores.split(",")) {
  const bench = benches[store]
  if (bench === undefined) throw new Error(`no store "${store}": sqlite or postgres`)
  await bench()
}
