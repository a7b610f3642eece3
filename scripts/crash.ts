/**
 * Tests crashes: starts the program, puts load on it, kills it with SIGKILL at a random moment, and
 * restarts it on the same database. On PostgreSQL, two processes run at the same time. At the end,
 * every answered request must be charged exactly once, every unanswered request at most once, and
 * all holds must be released.
 */
import assert from "node:assert/strict"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as Postgres from "./support/Postgres.ts"
import { type Program, programOn } from "./program.ts"
import { withVendor } from "./support/withVendor.ts"
import * as Traffic from "./traffic.ts"

interface Options {
  readonly rounds: number
  readonly database: "sqlite" | "postgres"
  readonly program?: string
}

const clientsPerProcess = 16
const requestTimeoutMs = 1000
/**
 * The longest wait for the release of a killed process's holds: their lease, plus a margin for a
 * busy machine.
 */
const returnMs = requestTimeoutMs + 15_000 + 10_000
/** A killed request is repeated until its hold is released and a new process listens. */
const patienceMs = 2 * returnMs

/** Runs the test. Throws when a charge is lost or doubled, or a hold is not released. */
export const crash = (options: Options) =>
  withVendor("crash", async (vendor, folder) => {
    const server =
      options.database === "postgres" ? await Postgres.start({ durable: true }) : undefined
    const program = programOn({
      cwd: folder,
      ...(options.program !== undefined && { main: options.program }),
      settings: {
        AUTHORITY_DATABASE_URL:
          server === undefined
            ? `sqlite:${join(folder, "authority.db")}`
            : `${server.url}/postgres`,
        ...FakeMoz.settings(vendor.url),
        AUTHORITY_REQUEST_TIMEOUT: `${requestTimeoutMs}ms`,
      },
    })
    try {
      return await crashOn(program, options.rounds, server === undefined ? 1 : 2)
    } finally {
      await server?.destroy()
    }
  })

const crashOn = async (program: Program, rounds: number, processes: number) => {
  const apiKey = await program.newKey("load")
  const urls: Array<string> = []
  const traffic: Array<ReturnType<typeof Traffic.run>> = []
  /** Puts load on new processes, and kills each of them at a random moment. */
  const round = async () => {
    let isOver = false
    const live = async (index: number) => {
      const { kill, url } = await program.serve()
      urls[index] = url
      const clients = clientsPerProcess
      traffic.push(Traffic.run({ urls, apiKey, clients, patienceMs, goesOn: () => !isOver }))
      await sleep(300 + Math.random() * 1500)
      await kill()
    }
    await Promise.all(Array.from({ length: processes }, (_, index) => live(index)))
    isOver = true
  }
  for (let i = 0; i < rounds; i++) await round()

  const heldAtLast = await program.held("load")
  const { kill, url } = await program.serve()
  urls.fill(url)
  try {
    // Requests with a key that were cut off by a kill are repeated until they are charged or get a
    // stored answer.
    const outcomes = (await Promise.all(traffic)).flat()
    await heldIsReturned(program)
    const { failures, ...tally } = Traffic.tally(outcomes, await program.charges("load"))
    assert.deepEqual({ lost: tally.lost, doubled: tally.doubled }, { lost: 0, doubled: 0 })
    assert(tally.unacknowledged <= tally.unanswered, "a request was charged twice")
    // Status 0 means no answer; 409 means that the hold of the key is not released yet.
    const { 0: _, 409: __, ...others } = failures
    assert.deepEqual(others, {})
    return { kills: rounds * processes, heldAtLast, ...tally }
  } finally {
    await kill()
  }
}

const heldIsReturned = async (program: Program) => {
  const end = performance.now() + returnMs
  for (;;) {
    const held = await program.held("load")
    if (held === 0) return
    assert(performance.now() < end, `${held} credits of killed processes are still held`)
    await sleep(500)
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
