/**
 * Compares the duration of a hold/settle pair on a ledger with `--entries` entries and on an empty
 * ledger, which is in another database. Measures `--pairs` pairs on each ledger in turn, `--turns`
 * times, so that other load affects both equally. Half of the entries belong to the measured
 * account. The hashes of the entries do not form a chain, so `credits verify` would fail on this
 * ledger. The duration does not depend on them, because requests do not read the hashes of earlier
 * entries.
 *
 *     node scripts/bench-large-ledger.ts [--entries 10000000] [--database sqlite|postgres]
 *       [--pairs 2000] [--turns 20]
 */
import { parseArgs } from "node:util"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AccountId } from "../src/Account.ts"
import { CreditLedger } from "../src/ledger/CreditLedger.ts"
import { newAccountWith } from "./support/accounts.ts"
import { credits, newHold } from "./support/ledger.ts"
import { ledger, withoutLimits } from "./support/newDatabase.ts"
import { median } from "./support/quantile.ts"

const { values: options } = parseArgs({
  options: {
    entries: { type: "string", default: "10000000" },
    database: { type: "string", default: "sqlite" },
    pairs: { type: "string", default: "2000" },
    turns: { type: "string", default: "20" },
  },
})
const entries = Number(options.entries)
const pairs = Number(options.pairs)
const turns = Number(options.turns)
const concurrency = 64
const pieceSize = 250_000

/**
 * Inserts the entries 2 to `count` of an account. The request id of entry n is not a UUID but the
 * number `before` + n in hexadecimal.
 */
const fill = (account: AccountId, count: number, before: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (let from = 2; from <= count; from += pieceSize) {
      const to = Math.min(count, from + pieceSize - 1)
      yield* sql.onDialectOrElse({
        sqlite: () => sql`
          WITH RECURSIVE numbers (n) AS (
            SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${to}
          )
          INSERT INTO entries
            (account_id, sequence, kind, amount, balance_after, request_id, urls, at, hash)
          SELECT ${account}, n, 'charge', 1, ${count} - n + 1,
            printf('%012x', ${before} + n), 1, n,
            lower(hex(randomblob(32)))
          FROM numbers`,
        orElse: () => sql`
          INSERT INTO entries
            (account_id, sequence, kind, amount, balance_after, request_id, urls, at, hash)
          SELECT ${account}, n, 'charge', 1, ${count}::bigint - n + 1,
            lpad(to_hex(${before}::bigint + n), 12, '0'), 1, n,
            md5(n::text) || md5((n + 1)::text)
          FROM generate_series(${from}::bigint, ${to}::bigint) AS numbers (n)`,
      })
    }
    if (count > 1) {
      const head = "0".repeat(64)
      yield* sql`
        UPDATE balances SET entries = ${count}, charged = ${count - 1}, head = ${head}
        WHERE account_id = ${account}`
    }
  }).pipe(withoutLimits)

const credit = 1_000_000_000_000
const otherAccounts = 1000

/** Inserts `count` entries into a ledger. Returns the account that owns half of them. */
const prepare = (count: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const quickly = sql.onDialectOrElse({
      sqlite: () => ({
        begin: sql`PRAGMA synchronous = OFF`,
        // Checkpoint now, so that no checkpoint writes the inserted entries during a measurement.
        end: Effect.zip(sql`PRAGMA synchronous = FULL`, sql`PRAGMA wal_checkpoint(TRUNCATE)`),
      }),
      orElse: () => ({
        begin: Effect.void,
        end: withoutLimits(Effect.zip(sql`VACUUM ANALYZE`, sql`CHECKPOINT`)),
      }),
    })
    yield* quickly.begin
    const others = count === 0 ? 0 : otherAccounts
    const share = Math.ceil(count / 2 / otherAccounts)
    for (let i = 0; i < others; i++) yield* fill(yield* newAccountWith(credit), share, i * share)
    const account = yield* newAccountWith(credit)
    yield* fill(account, Math.floor(count / 2), others * share)
    yield* quickly.end
    return account
  })

/**
 * Runs `--pairs` hold/settle pairs on the account, 64 at a time. Returns the milliseconds that all
 * pairs together took.
 */
const turn = (account: AccountId) =>
  Effect.gen(function* () {
    const ledger = yield* CreditLedger
    const start = performance.now()
    yield* Effect.forEach(
      Array(pairs).keys(),
      () => {
        const hold = newHold(account, 1)
        const charge = { amount: credits(1), urls: 1 }
        return Effect.zipRight(ledger.open(hold), ledger.settle(hold, charge))
      },
      { concurrency, discard: true },
    )
    return performance.now() - start
  })

type Stores = Effect.Effect.Context<ReturnType<typeof prepare>>

const compare = <E>(empty: Layer.Layer<Stores, E>, large: Layer.Layer<Stores, E>) =>
  Effect.gen(function* () {
    const build = (store: Layer.Layer<Stores, E>, count: number) =>
      Effect.gen(function* () {
        const context = yield* Layer.build(store)
        const account = yield* Effect.provide(prepare(count), context)
        return Effect.provide(turn(account), context)
      })
    const none = yield* build(empty, 0)
    const start = performance.now()
    const many = yield* build(large, entries)
    console.log(`${entries} entries in ${((performance.now() - start) / 1000).toFixed(0)} s`)
    yield* Effect.all([none, many])
    const times: Array<readonly [none: number, many: number]> = []
    for (let i = 0; i < turns; i++) {
      // Alternate the order of the two ledgers, because the first measurement may affect the second
      // one.
      if (i % 2 === 0) times.push([yield* none, yield* many])
      else times.push(yield* Effect.map(Effect.all([many, none]), ([b, a]) => [a, b] as const))
    }
    const ratio = median(times.map(([none, many]) => many / none))
    const [sumNone, sumMany] = [0, 1].map((i) =>
      times.reduce((sum, pair) => sum + (pair[i] ?? 0), 0),
    )
    console.log(
      `${options.database}: a pair takes ${ratio.toFixed(3)} times as long with ${entries} ` +
        `entries as with none (median of ${turns} turns of ${pairs} pairs; ` +
        `${((sumMany ?? 0) / (sumNone ?? 1)).toFixed(3)} over all turns)`,
    )
  }).pipe(Effect.scoped, Effect.runPromise)

await compare(ledger(options.database), ledger(options.database))
