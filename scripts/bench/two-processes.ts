/**
 * Measures whether two processes on one SQLite file serve more requests per second than one
 * process. Sends requests for URLs whose figures are cached, without idempotency keys, to one
 * process on 64 connections, then to two processes on 32 connections each. Prints a Markdown table:
 * for one and for two processes, the medians over all rounds, and the highest memory.
 *
 *     node scripts/bench/two-processes.ts [--rounds 3] [--seconds 4]
 *
 * Needs Linux, wrk, a C compiler and a build.
 */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { defaultConnections, load, median, medians, rssMb, writeRequests } from "./measure.ts"
import { matching } from "./workloads.ts"
import {
  dist,
  learn,
  mozSettings,
  newFolder,
  openAccounts,
  script,
  serve,
  type Server,
  start,
  stopAll,
  subfolder,
} from "./servers.ts"

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
  },
})
const warmUpSeconds = 8
const program = join(dist, "authority.cjs")
const folder = newFolder()
const file = join(folder, "requests.txt")
const slowFsync = join(folder, "slow-fsync.so")

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((a, b) => a + b, 0)

/**
 * Measures processes that share one load. Returns the sum of their requests per second and of their
 * memory, their highest p99 latency, and the medians of their other figures.
 */
const together = async (processes: ReadonlyArray<Server>, seconds: number) => {
  const connections = defaultConnections / processes.length
  const measures = await Promise.all(
    processes.map((server) => load(server, { file, seconds, connections })),
  )
  return {
    perSecond: sum(measures.map(({ perSecond }) => perSecond)),
    p50Ms: median(measures.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...measures.map(({ p99Ms }) => p99Ms)),
    cpuUs: median(measures.map(({ cpuUs }) => cpuUs)),
    rssMb: sum(processes.map(({ pid }) => rssMb(pid))),
  }
}

/** Starts `count` processes on one new database. */
const startAll = async (count: number, disk: string, env: NodeJS.ProcessEnv) => {
  const cwd = subfolder(folder, `${count}, ${disk}`)
  const settings = { ...mozSettings(vendor), ...env }
  const keys = openAccounts(cwd, program, settings)
  const started: Array<Server> = []
  for (let i = 0; i < count; i++) {
    const name = `process ${i + 1} of ${count}`
    started.push({ ...(await serve({ name, cwd, program, settings })), keys })
  }
  for (const server of started) await learn(server)
  return started
}

execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", slowFsync, script("slow-fsync.c")])
const vendor = await start("the vendor", folder, [script("vendor.ts")])
try {
  console.log(
    "| requests | fsync | processes | requests/s | p99 ms | CPU µs | RSS MB | times one |",
  )
  console.log("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
  for (const [disk, env] of [
    ["own", {}],
    ["+1 ms", { LD_PRELOAD: slowFsync }],
  ] as const) {
    const contenders = [await startAll(1, disk, env), await startAll(2, disk, env)]
    for (const row of matching(/^known, unnamed/).flatMap(({ rows }) => rows)) {
      writeRequests(file, row.requests)
      for (const processes of contenders) await together(processes, warmUpSeconds)
      const rounds = contenders.map(() => Array<Awaited<ReturnType<typeof together>>>())
      for (let round = 0; round < Number(options.rounds); round++) {
        for (const [i, processes] of contenders.entries()) {
          rounds[i]?.push(await together(processes, Number(options.seconds)))
        }
      }
      const one = medians(rounds[0] ?? [])
      rounds.forEach((measures, i) => {
        const { cpuUs, p99Ms, perSecond } = medians(measures)
        const cells = [row.name, disk, i + 1, perSecond.toFixed(0), p99Ms.toFixed(1)]
        const memory = Math.max(...measures.map(({ rssMb }) => rssMb))
        cells.push(cpuUs.toFixed(0), memory.toFixed(0))
        cells.push(`${(perSecond / one.perSecond).toFixed(2)}×`)
        console.log(`| ${cells.join(" | ")} |`)
      })
    }
    for (const server of contenders.flat()) await server.stop()
  }
} finally {
  await stopAll()
}
