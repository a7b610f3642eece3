/**
 * Tests the budget of an API key: 500 concurrent requests against a budget of 200 credits. Half of
 * the requests have an idempotency key, and half of the targets fail at the provider. Without
 * `--url`, two replicas of the program run on one PostgreSQL (with `--sqlite`: one process), and in
 * every tenth round one of them is killed with SIGKILL and started again. With `--url` and `--key`,
 * the requests go to another service. The script reads its `used` and `remaining` in `GET /v1/key`.
 */
import assert from "node:assert/strict"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Schema from "effect/Schema"
import { type Figures, type Round, runRound } from "./budget-round.ts"
import * as FakeMoz from "./support/FakeMoz.ts"
import type * as FakeVendor from "./support/FakeVendor.ts"
import * as Postgres from "./support/Postgres.ts"
import { withVendor } from "./support/withVendor.ts"
import { type Program, programOn } from "./program.ts"

const credits = 200
const account = "budgets"

/** The vendor's answers take 20 to 120 ms, with an error for half of the targets. */
const half = FakeMoz.siteError((page) => page.startsWith("fails-"))
const vendorFault: FakeVendor.Fault = {
  name: "half of the targets fail",
  apply: (...call) => void setTimeout(() => half.apply(...call), 20 + Math.random() * 100),
}

/** Tests the program itself: `rounds` rounds, each with a new key. */
const testProgram = (rounds: number, isSqlite: boolean) =>
  withVendor("budgets", async (vendor, folder) => {
    vendor.always(vendorFault)
    const server = isSqlite ? undefined : await Postgres.start({ durable: true })
    const databaseUrl =
      server === undefined ? `sqlite:${join(folder, "authority.db")}` : `${server.url}/postgres`
    const program = programOn({
      cwd: folder,
      settings: { AUTHORITY_DATABASE_URL: databaseUrl, ...FakeMoz.settings(vendor.url) },
    })
    try {
      await program.verb("account", "create", account, "--credits", "100000000")
      const replicas = await Promise.all([program.serve(), ...(isSqlite ? [] : [program.serve()])])
      try {
        return await runRounds(program, replicas, rounds)
      } finally {
        await Promise.all(replicas.map(({ kill }) => kill()))
      }
    } finally {
      await server?.destroy()
    }
  })

type Replica = Awaited<ReturnType<Program["serve"]>>

const runRounds = async (program: Program, replicas: Array<Replica>, rounds: number) => {
  const all: Array<Figures> = []
  for (let round = 1; round <= rounds; round++) {
    await untilMidnightIsFar()
    const isKill = round % Math.min(10, rounds) === 0
    const options: Round = {
      urls: () => replicas.map(({ url }) => url),
      apiKey: await newKey(program),
      ...(isKill && { kill: () => restart(program, replicas, round % replicas.length) }),
    }
    const figures = await runRound(options)
    print(`${round}${isKill ? " (kill)" : ""}`, figures)
    all.push(figures)
  }
  const charged = (await program.charges(account)).reduce((sum, [, charge]) => sum + charge, 0)
  const used = all.reduce((sum, { spent }) => sum + spent, 0)
  console.log(`The keys have used ${used} credits, and the statement has charges of ${charged}.`)
  if (used !== charged) process.exitCode = 1
  return all
}

const newKey = async (program: Program) =>
  decodeKey(await program.verb("key", "create", "--account", account, "--budget", `${credits}/day`))
    .key

const decodeKey = Schema.decodeUnknownSync(Schema.Struct({ key: Schema.String }))

/** Kills a replica, and starts another in its place. */
const restart = async (program: Program, replicas: Array<Replica>, index: number) => {
  await replicas[index]?.kill()
  replicas[index] = await program.serve()
}

/** At midnight (UTC), a budget by day begins anew. `test/ledger/Budgets.test.ts` tests that. */
const untilMidnightIsFar = async () => {
  const leftMs = 86_400_000 - (Date.now() % 86_400_000)
  if (leftMs < 120_000) await sleep(leftMs + 1000)
}

const print = (round: string, figures: Figures) => {
  const { expected, healMs, leaked, overspent, refused, spent, unknown } = figures
  const maybe = unknown === 0 ? "" : ` to ${expected + unknown}`
  const heal = healMs === undefined ? "" : `, healed after ${(healMs / 1000).toFixed(1)} s`
  console.log(
    `round ${round}: spent ${spent}, expected ${expected}${maybe}, overspent ${overspent}, refused by mistake ${refused}, holds leaked ${leaked}${heal}`,
  )
}

const sumOf = (all: ReadonlyArray<Figures>): Figures => {
  const sum = (read: (figures: Figures) => number) => all.reduce((n, one) => n + read(one), 0)
  const heals = all.flatMap(({ healMs }) => healMs ?? [])
  return {
    spent: sum(({ spent }) => spent),
    expected: sum(({ expected }) => expected),
    unknown: sum(({ unknown }) => unknown),
    overspent: sum(({ overspent }) => overspent),
    refused: sum(({ refused }) => refused),
    leaked: sum(({ leaked }) => leaked),
    healMs: heals.length === 0 ? undefined : Math.max(...heals),
  }
}

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    sqlite: { type: "boolean", default: false },
    url: { type: "string", multiple: true },
    key: { type: "string" },
  },
})
const { key, rounds, sqlite, url } = values
assert((url === undefined) === (key === undefined), "--url and --key belong together")
const all =
  url === undefined || key === undefined
    ? await testProgram(Number(rounds), sqlite)
    : [await runRound({ urls: () => url, apiKey: key })]
const total = sumOf(all)
print("1 to " + all.length, total)
if (total.overspent + total.refused + total.leaked > 0) process.exitCode = 1
