/**
 * Tests the guide's page about Litestream: replicates the SQLite database of a service under load,
 * kills the service and Litestream with SIGKILL, deletes the database, and restores it from the
 * replica. Fails when the restored ledger has a problem, a request is charged twice, or a charge is
 * lost that was acknowledged more than `limitMs` before the kill. After a clean stop, no charge may
 * be lost. Installs Litestream from the npm package `@flydotio/litestream` into a temporary folder.
 */
import { execFile } from "node:child_process"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs, promisify } from "node:util"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as ServerProcess from "./support/ServerProcess.ts"
import { withVendor } from "./support/withVendor.ts"
import { type Program, programOn } from "./program.ts"
import * as Traffic from "./traffic.ts"

/** The packages of Litestream: a program for each platform. The version of the program is 0.3.13. */
const version = "1.0.1"

/** The longest allowed age of a lost charge, in milliseconds. Litestream copies once a second. */
const limitMs = 5000

const clients = 8
const run = promisify(execFile)

interface Place {
  readonly folder: string
  /** Litestream's program. */
  readonly litestream: string
  readonly database: string
  readonly configuration: string
}

const install = async (folder: string): Promise<Place> => {
  const packageName = `@flydotio/litestream-${process.platform}-${process.arch}`
  const options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder]
  await run("npm", ["install", ...options, `${packageName}@${version}`])
  const database = join(folder, "authority.db")
  const configuration = join(folder, "litestream.yml")
  writeFileSync(
    configuration,
    `logging:
  stderr: true
dbs:
  - path: ${database}
    replicas:
      - path: ${join(folder, "replica")}
        sync-interval: 1s
`,
  )
  const litestream = join(folder, "node_modules", packageName, "litestream")
  return { folder, litestream, database, configuration }
}

const replicate = ({ configuration, folder, litestream }: Place) =>
  ServerProcess.start({
    command: [litestream, "replicate", "-config", configuration],
    readyText: "replicating to",
    stopSignal: "TERM",
    cwd: folder,
    user: {},
  })

/** Deletes the database, and restores it from the replica. */
const restore = async (program: Program, place: Place) => {
  const { configuration, database, folder, litestream } = place
  for (const end of ["", "-wal", "-shm"]) rmSync(database + end, { force: true })
  rmSync(join(folder, ".authority.db-litestream"), { recursive: true })
  const copy = join(folder, "restored.db")
  rmSync(copy, { force: true })
  await run(litestream, ["restore", "-config", configuration, "-o", copy, database])
  await program.verb("restore", copy)
}

/** One round on the database of the round before. Returns the figures and whether they are good. */
const runRound = async (program: Program, place: Place, account: string, isClean: boolean) => {
  const apiKey = await program.newKey(account)
  const litestream = await replicate(place)
  const service = await program.serve()
  let isOver = false
  const load = { urls: [service.url], apiKey, clients, pauseMs: 20, patienceMs: 0 }
  const traffic = Traffic.run({ ...load, goesOn: () => !isOver })
  await sleep(4000 + Math.random() * 1000)
  isOver = true
  const stoppedAt = performance.now()
  if (isClean) {
    await service.kill("SIGTERM")
  } else {
    litestream.signal("SIGKILL")
    await service.kill("SIGKILL")
  }
  await litestream.stop()
  const outcomes = await traffic
  await restore(program, place)
  const charges = await program.charges(account)
  const restored = new Set(charges.map(([requestId]) => requestId))
  const lostAges = outcomes
    .filter(({ creditsUsed }) => creditsUsed !== undefined)
    .filter(({ requestIds }) => !requestIds.some((id) => restored.has(id)))
    .map(({ answeredAt }) => Math.round(stoppedAt - answeredAt))
  const { acknowledged, doubled, lost } = Traffic.tally(outcomes, charges)
  const oldestLostMs = Math.max(0, ...lostAges)
  const isGood = isClean ? lost === 0 : oldestLostMs <= limitMs
  return {
    figures: { isClean, acknowledged, doubled, lost, oldestLostMs },
    isGood: isGood && doubled === 0 && restored.size > 0,
  }
}

const { values } = parseArgs({ options: { rounds: { type: "string", default: "3" } } })
await withVendor("litestream", async (vendor, folder) => {
  const place = await install(folder)
  const program = programOn({
    cwd: folder,
    settings: {
      AUTHORITY_DATABASE_URL: `sqlite:${place.database}`,
      ...FakeMoz.settings(vendor.url),
    },
  })
  const rounds = Number(values.rounds)
  for (let round = 1; round <= rounds; round++) {
    const isLast = round === rounds
    const { figures, isGood } = await runRound(program, place, `round-${round}`, isLast)
    console.log(`round ${round}:`, JSON.stringify(figures))
    if (!isGood) process.exitCode = 1
  }
})
