/**
 * Measures the usage report over `--entries` entries of `--accounts` accounts with `--keys` keys
 * each, spread over `--days` days. Half of the entries belong to the first account. The hashes of
 * the entries do not form a chain, so `credits verify` would fail on this ledger.
 *
 *     node scripts/bench-usage.ts [--entries 10000000] [--accounts 100] [--keys 5] [--days 365]
 *       [--database sqlite|postgres]
 */
import { parseArgs } from "node:util"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { AccountId } from "../src/Account.ts"
import { CreditLedger } from "../src/CreditLedger.ts"
import type * as Usage from "../src/ledger/Usage.ts"
import { makeUsageProblems } from "../src/sql/usageQueries.ts"
import { newAccountWith } from "./support/accounts.ts"
import { ledger, withoutLimits } from "./support/newDatabase.ts"
import { median } from "./support/quantile.ts"

const { values: options } = parseArgs({
  options: {
    entries: { type: "string", default: "10000000" },
    accounts: { type: "string", default: "100" },
    keys: { type: "string", default: "5" },
    days: { type: "string", default: "365" },
    database: { type: "string", default: "sqlite" },
  },
})
const entries = Number(options.entries)
const accounts = Number(options.accounts)
const keys = Number(options.keys)
const days = Number(options.days)
const dayMs = 86_400_000
const firstDay = 20_000

/** Inserts `count` charges of an account, and their usage. `before` makes the request ids unique. */
const fill = (account: AccountId, count: number, before: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(
      "account_id, sequence, kind, amount, balance_after, request_id, urls, at, hash, api_key_id",
    )
    // A literal: SQLite would divide by a parameter as by a fraction.
    const at = sql.literal(
      `(${firstDay} + CAST(n AS BIGINT) * ${days} / ${count + 2}) * CAST(${dayMs} AS BIGINT)`,
    )
    yield* sql.onDialectOrElse({
      sqlite: () => sql`
        WITH RECURSIVE numbers (n) AS (
          SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n <= ${count}
        )
        INSERT INTO entries (${columns})
        SELECT ${account}, n, 'charge', 1, 1, printf('%012x', ${before} + n), 1, ${at},
          printf('%064x', n), ${account} || (CAST(n AS BIGINT) % CAST(${keys} AS BIGINT))
        FROM numbers`,
      orElse: () => sql`
        INSERT INTO entries (${columns})
        SELECT ${account}, n, 'charge', 1, 1, lpad(to_hex(${before}::bigint + n), 12, '0'), 1, ${at},
          lpad(to_hex(n), 64, '0'), ${account}::text || (n % ${keys}::bigint)
        FROM generate_series(2::bigint, ${count + 1}::bigint) AS numbers (n)`,
    })
    yield* sql`
      INSERT INTO usage
      SELECT account_id, at / 86400000, api_key_id, SUM(urls), SUM(amount), 0, 0, 0, 0
      FROM entries WHERE account_id = ${account} AND kind = 'charge' GROUP BY 1, 2, 3`
  }).pipe(withoutLimits)

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(
    Effect.timed(effect),
    ([duration, value]) => [Duration.toMillis(duration), value] as const,
  )

const measured = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ledger = yield* CreditLedger
  const share = Math.floor(entries / 2 / Math.max(1, accounts - 1))
  const [filled, first] = yield* timed(
    Effect.gen(function* () {
      const account = yield* newAccountWith(1_000_000_000)
      yield* fill(account, entries - share * (accounts - 1), 0)
      for (let i = 1; i < accounts; i++) {
        yield* fill(yield* newAccountWith(1_000_000_000), share, entries * 2 + i * share * 2)
      }
      return account
    }),
  )
  yield* sql.onDialectOrElse({
    sqlite: () => Effect.void,
    orElse: () => withoutLimits(sql`VACUUM ANALYZE`),
  })
  const [rows] = yield* sql<{ rows: number }>`SELECT COUNT(*) AS rows FROM usage`
  console.log(`${entries} entries, ${rows?.rows} rows of usage, in ${(filled / 1000).toFixed(0)} s`)
  const week = { since: (firstDay + days - 7) * dayMs }
  const questions: Readonly<Record<string, Usage.Question>> = {
    "one account by day": { account: first, by: "day" },
    "one account by key": { account: first, by: "key" },
    "all accounts by account, a week": { by: "account", ...week },
    "all accounts by key, a week": { by: "key", ...week },
    "all accounts by account, all days": { by: "account" },
  }
  for (const [name, question] of Object.entries(questions)) {
    const report = timed(ledger.usage?.(question) ?? Effect.succeed([]))
    const times = yield* Effect.replicateEffect(report, 21)
    const [, sums] = times[0] ?? [0, []]
    const all = times.map(([ms]) => ms)
    console.log(
      `${name}: ${sums.length} rows, median ${median(all).toFixed(1)} ms, slowest ${Math.max(...all).toFixed(1)} ms`,
    )
  }
  const [ms, problems] = yield* timed(makeUsageProblems(sql)(first))
  console.log(`proof of one account: ${(ms / 1000).toFixed(1)} s, ${problems.length} problems`)
})

await Effect.runPromise(Effect.provide(measured, ledger(options.database)))
