/**
 * Measures how long a customer waits while others read much. Makes a SQLite database with
 * `--accounts` accounts of two keys each, and `--entries` entries over `--days` days, and serves it
 * as a process of its own. For `--seconds` each, a customer sends batches of one known URL, calm and
 * beside each heavy read. Prints p50 and p99 of these batches, the longest block of the server's
 * event loop, and the time of the heavy read. The hashes of the entries do not form a chain, so
 * `credits verify` would fail on this ledger.
 *
 *     node scripts/bench-usage.ts [--entries 1200000] [--accounts 100000] [--days 365]
 *       [--seconds 5]
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { request, Agent } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ApiKeys } from "../src/ApiKeys.ts"
import * as SqlAccounts from "../src/sql/Accounts.ts"
import * as SqlApiKeys from "../src/sql/ApiKeys.ts"
import * as SqlCreditLedger from "../src/ledger/SqlCreditLedger.ts"
import * as Migrations from "../src/sql/Migrations.ts"
import * as Sqlite from "../src/sql/Sqlite.ts"
import { newAccountWith } from "./support/accounts.ts"
import { freePort } from "./free-port.ts"
import { quantile } from "./support/quantile.ts"

const { values: options } = parseArgs({
  options: {
    entries: { type: "string", default: "1200000" },
    accounts: { type: "string", default: "100000" },
    days: { type: "string", default: "365" },
    seconds: { type: "string", default: "5" },
  },
})
const entries = Number(options.entries)
const accounts = Number(options.accounts)
const days = Number(options.days)
const seconds = Number(options.seconds)
const dayMs = 86_400_000
const today = Math.floor(Date.now() / dayMs)
/** The rows of the longest page of a history or a usage. */
const page = 1000

const zeros = "0".repeat(64)

/** Each account has a grant, and charges of its two keys in turn. The reader has long pages. */
const fill = (reader: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const numbers = (count: number) => sql`
      WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count - 1})`
    const each = Math.floor(entries / accounts)
    yield* sql`PRAGMA synchronous = OFF`
    yield* sql`${numbers(accounts)}
      INSERT INTO accounts (id, name, created_at)
      SELECT printf('a-%06d', n), printf('account %06d', n), 0 FROM numbers`
    yield* sql`${numbers(accounts)}
      INSERT INTO balances (account_id, granted, charged, held, entries, head)
      SELECT printf('a-%06d', n), 1000, n % 1000, 0, ${each}, ${zeros} FROM numbers`
    yield* sql`${numbers(accounts * 2)}
      INSERT INTO api_keys (id, account_id, label, hash, start, created_at)
      SELECT printf('k-%07d', n), printf('a-%06d', n / 2), 'a label', printf('%064d', n), 'am_abcdef', 0
      FROM numbers`
    yield* sql`${numbers(entries)}
      INSERT INTO entries
        (account_id, sequence, kind, amount, balance_after, request_id, urls, at, hash, api_key_id)
      SELECT printf('a-%06d', n % ${accounts}), n / ${accounts} + 1, 'charge', 1, 1,
        printf('%012x', n), 1,
        (${today} - n * 7 / ${accounts} * 31 % ${days}) * CAST(${dayMs} AS BIGINT), ${zeros},
        printf('k-%07d', n % ${accounts} * 2 + n / ${accounts} % 2)
      FROM numbers`
    yield* sql`
      INSERT INTO usage
      SELECT account_id, at / ${dayMs}, api_key_id, SUM(urls), SUM(amount), 0, 0, 0, 0
      FROM entries WHERE kind = 'charge' GROUP BY 1, 2, 3`
    yield* sql`${numbers(page)}
      INSERT INTO usage SELECT ${reader}, ${today} - n, 'k-0000000', 1, 1, 0, 0, 0, 0 FROM numbers`
    yield* sql`${numbers(page)}
      INSERT INTO entries (account_id, sequence, kind, amount, balance_after, at, hash)
      SELECT ${reader}, n + 2, 'grant', 1, 1, 0, ${zeros} FROM numbers`
    yield* sql`${numbers(page)}
      INSERT INTO observations
      SELECT 'example.com/', 'sandbox', ${(today - 2) * dayMs} - n * 60000,
        ${(today - 2) * dayMs} - n * 60000, NULL, 50, n % 100, 1, 0, ${Date.now()} FROM numbers`
    yield* sql`PRAGMA wal_checkpoint(TRUNCATE)`
    const [rows] = yield* sql<{ rows: number }>`SELECT COUNT(*) AS rows FROM usage`
    console.log(`${accounts} accounts, ${entries} entries, ${rows?.rows} rows of usage`)
  })

const prepare = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const [customer, reader] = [yield* newAccountWith(1_000_000), yield* newAccountWith(1_000_000)]
  yield* fill(reader)
  const issued = yield* Effect.forEach([customer, reader], (account) => keys.issue({ account }))
  return issued.map(({ key }) => Redacted.value(key))
})

const adminToken = "x".repeat(32)
const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Sends a request. Resolves with the status and the milliseconds until the whole answer. */
const send = (port: number, path: string, headers: Record<string, string>, body?: string) =>
  new Promise<{ readonly status: number; readonly ms: number }>((resolve, reject) => {
    const start = performance.now()
    const method = body === undefined ? "GET" : "POST"
    request({ agent, port, path, method, headers }, (response) => {
      response.resume().on("end", () => {
        resolve({ status: response.statusCode ?? 0, ms: performance.now() - start })
      })
    })
      .on("error", reject)
      .end(body)
  })

const folder = mkdtempSync(join(tmpdir(), "authority-bench-"))
const file = join(folder, "authority.db")

const stores = Layer.mergeAll(
  SqlAccounts.layer,
  SqlApiKeys.layer,
  SqlCreditLedger.layer({ lease: "1 hour" }),
).pipe(Layer.provideMerge(Layer.provideMerge(Migrations.layer, Sqlite.layer(file))))

const [customer = "", reader = ""] = await Effect.runPromise(Effect.provide(prepare, stores))

/** Runs in the server: answers each message with the longest block since the last, in ms. */
const watch = `import { monitorEventLoopDelay } from "node:perf_hooks"
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
process.on("message", () => { process.send(delay.max / 1e6); delay.reset() })`

const port = await freePort()
const server = fork(join(import.meta.dirname, "../src/main.ts"), ["serve"], {
  execArgv: ["--import", `data:text/javascript,${encodeURIComponent(watch)}`],
  stdio: ["ignore", "ignore", "inherit", "ipc"],
  env: {
    PATH: process.env["PATH"],
    AUTHORITY_DATABASE_URL: `sqlite:${file}`,
    AUTHORITY_PORT: String(port),
    AUTHORITY_PROVIDER: "sandbox",
    AUTHORITY_ADMIN_TOKEN: adminToken,
    AUTHORITY_LOG_LEVEL: "error",
  },
})

const longestBlock = async () => {
  server.send("longest")
  const [ms] = await once(server, "message")
  return Number(ms)
}

const check = () =>
  send(
    port,
    "/v1/metrics/da-pa/batch",
    { "x-api-key": customer, "content-type": "application/json" },
    JSON.stringify({ urls: ["example.org"] }),
  )

const asReader = { "x-api-key": reader }
const asOperator = { authorization: `Bearer ${adminToken}` }
const history = `/v1/metrics/da-pa/history?url=example.com&limit=${page}`

type Read = readonly [path: string, headers: Record<string, string>, connections: number]
const reads: Readonly<Record<string, Read | undefined>> = {
  calm: undefined,
  "/metrics": ["/metrics", {}, 1],
  history: [history, asReader, 16],
  "usage by day": ["/v1/usage?by=day", asReader, 16],
  "all usage by day": ["/admin/v1/usage?by=day", asOperator, 1],
  "all usage by account, 1": ["/admin/v1/usage?by=account&limit=1", asOperator, 1],
  "all usage by key, 1000": ["/admin/v1/usage?by=key&limit=1000", asOperator, 1],
  "statement, 1000": ["/admin/v1/accounts/account-2/statement?limit=1000", asOperator, 1],
  "accounts, 1000": ["/admin/v1/accounts?limit=1000", asOperator, 1],
}

const measure = async (name: string, read: Read | undefined) => {
  await longestBlock()
  const end = performance.now() + seconds * 1000
  const [times, readTimes]: [Array<number>, Array<number>] = [[], []]
  const statuses = new Map<number, number>()
  const reading = async ([path, headers]: Read) => {
    while (performance.now() < end) {
      const { ms, status } = await send(port, path, headers)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status === 200) readTimes.push(ms)
      else await setTimeout(10)
    }
  }
  const checking = async () => {
    while (performance.now() < end) {
      const { ms, status } = await check()
      if (status !== 200) throw new Error(`the customer got ${status}`)
      times.push(ms)
      await setTimeout(5)
    }
  }
  await Promise.all([
    checking(),
    ...(read === undefined ? [] : Array.from({ length: read[2] }, () => reading(read))),
  ])
  const ms = (value: number) => value.toFixed(1).padStart(8)
  const p99 = quantile(times, 0.99)
  if (read === undefined) calm.push(p99)
  console.log(
    name.padEnd(24) +
      `${ms(quantile(times, 0.5))}${ms(p99)}${ms(p99 / (calm[0] ?? p99))}` +
      `${ms(await longestBlock())}${ms(quantile(readTimes, 0.5))}   ` +
      [...statuses].map(([status, count]) => `${count} × ${status}`).join(", "),
  )
}

const calm: Array<number> = []
try {
  while ((await send(port, "/health/ready", {}).catch(() => ({ status: 0 }))).status !== 200) {
    await setTimeout(100)
  }
  for (let i = 0; i < 200; i++) await check()
  console.log(
    `milliseconds${" ".repeat(12)}${["p50", "p99", "× calm", "block", "read"].map((title) => title.padStart(8)).join("")}`,
  )
  for (const [name, read] of Object.entries(reads)) await measure(name, read)
} finally {
  agent.destroy()
  server.kill()
  await once(server, "exit")
  rmSync(folder, { recursive: true })
}
