/**
 * Tests crashes: starts the program, puts load on it, kills it with SIGKILL at a random moment, and
 * restarts it on the same database. On PostgreSQL, two processes run at the same time. The clients
 * repeat requests with an idempotency key until they have an answer. At the end, every answered
 * request must be charged exactly once, every other request at most once, and all holds must be
 * released.
 */
import assert from "node:assert/strict"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as Postgres from "./support/Postgres.ts"
import { withVendor } from "./support/withVendor.ts"
import { programOn } from "./program.ts"
import * as Traffic from "./traffic.ts"

interface Options {
  readonly rounds: number
  readonly database: "sqlite" | "postgres"
  /** The program's main file (default: the TypeScript sources). */
  readonly program?: string
}

const clientsPerProcess = 16
const requestTimeoutMs = 1000
/** The longest wait for the release of a killed process's holds: their lease, and a busy machine. */
const returnMs = requestTimeoutMs + 15_000 + 10_000

/** Runs the test. Throws when a charge is lost or doubled, or a hold is not released. */
export const crash = ({ database, program, rounds }: Options) =>
  withVendor("crash", async (vendor, folder) => {
    const isPostgres = database === "postgres"
    const server = isPostgres ? await Postgres.start({ durable: true }) : undefined
    try {
      const settings = {
        AUTHORITY_DATABASE_URL:
          server === undefined
            ? `sqlite:${join(folder, "authority.db")}`
            : `${server.url}/postgres`,
        ...FakeMoz.settings(vendor.url),
        AUTHORITY_REQUEST_TIMEOUT: `${requestTimeoutMs}ms`,
      }
      const main = program === undefined ? {} : { main: program }
      return await crashOn({ cwd: folder, settings, ...main }, rounds, isPostgres ? 2 : 1)
    } finally {
      await server?.destroy()
    }
  })

const crashOn = async (
  options: Parameters<typeof programOn>[0],
  rounds: number,
  processes: number,
) => {
  const program = programOn(options)
  const apiKey = await program.newKey("load")
  const replicas = await Promise.all(Array.from({ length: processes }, () => program.serve()))
  // Clients send their next attempt to the process that took the place of the killed one.
  const urls = replicas.map(({ url }) => url)
  const clients = clientsPerProcess * processes
  let [sent, isOver] = [0, false]
  const goesOn = (count: number) => {
    sent = count
    return !isOver
  }
  const traffic = Traffic.run({ urls, apiKey, clients, goesOn })
  const killOften = async (index: number) => {
    for (let round = 0; round < rounds; round++) {
      // A process that has answered nothing yet has nothing to lose.
      for (const before = sent; sent < before + clients;) await sleep(20)
      await sleep(Math.random() * 1000)
      await replicas[index]?.kill()
      const next = await program.serve()
      replicas[index] = next
      urls[index] = next.url
    }
  }
  try {
    await Promise.all(urls.map((_, index) => killOften(index)))
    isOver = true
    const outcomes = await traffic
    const end = performance.now() + returnMs
    while ((await program.held("load")) > 0) {
      assert(performance.now() < end, "credits of killed processes are still held")
      await sleep(500)
    }
    const tally = Traffic.tally(outcomes, await program.charges("load"))
    assert.deepEqual([tally.lost, tally.doubled], [0, 0], "charges are lost or doubled")
    const unanswered = outcomes.filter(({ creditsUsed }) => creditsUsed === undefined)
    assert(!unanswered.some(({ isNamed }) => isNamed), "a request with a key has no answer")
    return { kills: rounds * processes, unanswered: unanswered.length, ...tally }
  } finally {
    isOver = true
    await Promise.all(replicas.map(({ kill }) => kill()))
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "200" },
      database: { type: "string", default: "sqlite" },
    },
  })
  const { database } = values
  if (database !== "sqlite" && database !== "postgres") {
    throw new Error("--database is sqlite or postgres")
  }
  const outcome = await crash({ rounds: Number(values.rounds), database })
  console.log(`${database}: nothing is lost`, outcome)
}
