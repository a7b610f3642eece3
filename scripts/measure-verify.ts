/**
 * Measures the time and the peak memory of `credits verify`. Fills SQLite ledgers with
 * entries that have valid hashes. Half of the entries belong to one account.
 *
 *     node scripts/measure-verify.ts [--entries 1000000,10000000]
 */
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { parseArgs } from "node:util"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { AccountId } from "../src/Account.ts"
import * as Balance from "../src/ledger/Balance.ts"
import type { LedgerEntry } from "../src/ledger/LedgerEntry.ts"
import * as SqlAccounts from "../src/sql/Accounts.ts"
import { entryInserter } from "../src/ledger/SqlLedger.ts"
import * as Migrations from "../src/sql/Migrations.ts"
import * as Sqlite from "../src/sql/Sqlite.ts"
import { newAccount } from "./support/accounts.ts"
import { credits, newRequest } from "./support/ledger.ts"

const { values: options } = parseArgs({
  options: { entries: { type: "string", default: "1000000,10000000" } },
})

const otherAccounts = 1000
const pieceSize = 10_000

/** Yields one grant, then charges of 1 credit. */
function* entriesOf(accountId: AccountId, count: number) {
  let [balance, entry]: readonly [Balance.Balance, LedgerEntry | undefined] = Either.getOrThrow(
    Balance.grant(Balance.empty, { accountId, amount: credits(count), note: null, at: 0 }),
  )
  if (entry !== undefined) yield { balance, entry }
  for (let at = 1; at < count; at++) {
    const hold = { accountId, requestId: newRequest(), amount: credits(1) }
    const held = { ...balance, held: credits(1) }
    ;[balance, entry] = Balance.settle(held, hold, { amount: credits(1), urls: 1 }, at)
    if (entry !== undefined) yield { balance, entry }
  }
}

const fill = (accountId: AccountId, count: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const write = entryInserter(sql)
    let last = Balance.empty
    let piece: Array<LedgerEntry> = []
    for (const { balance, entry } of entriesOf(accountId, count)) {
      last = balance
      piece.push(entry)
      if (piece.length === pieceSize) yield* write(piece.splice(0))
    }
    yield* write(piece)
    const { charged, entries, granted, head } = last
    yield* sql`
      UPDATE balances
      SET granted = ${granted}, charged = ${charged}, entries = ${entries}, head = ${head}
      WHERE account_id = ${accountId}`
  })

const prepare = (filename: string, count: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`PRAGMA synchronous = OFF`
    const share = Math.floor(count / 2 / otherAccounts)
    for (let i = 0; i < otherAccounts; i++) yield* fill((yield* newAccount).id, share)
    yield* fill((yield* newAccount).id, count - share * otherAccounts)
  }).pipe(
    Effect.provide(
      SqlAccounts.layer.pipe(
        Layer.provideMerge(Migrations.layer),
        Layer.provideMerge(Sqlite.layer(filename)),
      ),
    ),
    Effect.runPromise,
  )

/** The peak memory of a running process, in MB; 0 when the process has ended. */
const peakOf = (pid: number | undefined): number => {
  try {
    const [, kb = "0"] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
    return Number(kb) / 1024
  } catch {
    return 0
  }
}

const verify = async (cwd: string) => {
  const main = join(import.meta.dirname, "..", "src", "main.ts")
  const start = performance.now()
  const child = spawn(process.execPath, [main, "credits", "verify", "--json"], {
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] },
  })
  let peakMb = 0
  const watch = setInterval(() => (peakMb = Math.max(peakMb, peakOf(child.pid))), 50)
  const [output] = await Promise.all([text(child.stdout), once(child, "exit")])
  clearInterval(watch)
  return { ...JSON.parse(output), peakMb, seconds: (performance.now() - start) / 1000 }
}

for (const count of options.entries.split(",").map(Number)) {
  const folder = mkdtempSync(join(tmpdir(), "authority-verify-"))
  try {
    await prepare(join(folder, "authority.db"), count)
    const { accounts, entries, ok, peakMb, seconds } = await verify(folder)
    assert.deepEqual({ ok, entries, accounts }, { ok: true, entries: count, accounts: 1001 })
    console.log(
      `${entries} entries: ${seconds.toFixed(0)} s, ${peakMb.toFixed(0)} MB of memory at most`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
