/**
 * Whether two processes on one SQLite file do more than one: each workload is asked of one process
 * on 64 connections and of two on 32 each, in turn. Prints a table of medians.
 *
 *     node scripts/bench/processes.ts [--rounds 3] [--seconds 4]
 *
 * Needs wrk, a C compiler and a build.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { measure, median, medians, workloads } from "./measure.ts"
import { emptyFolder, openAccounts, script, type Server, start, startService } from "./servers.ts"

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
  },
})
const dist = join(import.meta.dirname, "../../dist")
const program = join(dist, "authority.cjs")
const folder = mkdtempSync(join(dist, "bench-"))
const slowFsync = join(folder, "slow-fsync.so")
const servers: Array<Server> = []

/** One process or more under the same load, which they share; what they do is added up. */
const together = async (
  processes: ReadonlyArray<Server>,
  { requests }: (typeof workloads)[number],
  seconds: string,
) => {
  const measures = await Promise.all(
    processes.map((server, i) => {
      const file = join(folder, `requests-${i}.txt`)
      return measure(server, requests, { connections: 64 / processes.length, file, seconds })
    }),
  )
  const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((a, b) => a + b, 0)
  return {
    perSecond: sum(measures.map(({ perSecond }) => perSecond)),
    p50Ms: median(measures.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...measures.map(({ p99Ms }) => p99Ms)),
    cpuUs: median(measures.map(({ cpuUs }) => cpuUs)),
    rssMb: sum(measures.map(({ rssMb }) => rssMb)),
  }
}

try {
  execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", slowFsync, script("slow-fsync.c")])
  const vendor = await start(folder, [script("vendor.ts")])
  servers.push(vendor)
  console.log(
    "| workload | fsync | processes | requests/s | p99 ms | CPU µs | RSS MB | times one |",
  )
  console.log("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
  for (const [disk, env] of [
    ["own", {}],
    ["+1 ms", { LD_PRELOAD: slowFsync }],
  ] as const) {
    const startAll = async (count: number) => {
      const cwd = emptyFolder(folder, `${count}, ${disk}`)
      const keys = openAccounts(cwd, program)
      const started: Array<Server> = []
      for (let i = 0; i < count; i++) {
        started.push(await startService(cwd, program, keys, vendor.url, env))
      }
      servers.push(...started)
      return started
    }
    const contenders = [await startAll(1), await startAll(2)]
    for (const workload of workloads) {
      for (const processes of contenders) await together(processes, workload, "8")
      const rounds = contenders.map(() => Array<Awaited<ReturnType<typeof together>>>())
      for (let round = 0; round < Number(options.rounds); round++) {
        for (const [i, processes] of contenders.entries()) {
          rounds[i]?.push(await together(processes, workload, options.seconds))
        }
      }
      const [one] = rounds
      rounds.forEach((measures, i) => {
        const { cpuUs, p99Ms, perSecond, rssMb } = medians(measures)
        const times = median(
          measures.map(({ perSecond }, j) => perSecond / (one?.[j]?.perSecond ?? Number.NaN)),
        )
        const cells = [workload.name, disk, i + 1, perSecond.toFixed(0), p99Ms.toFixed(1)]
        cells.push(cpuUs.toFixed(0), rssMb.toFixed(0), `${times.toFixed(2)}×`)
        console.log(`| ${cells.join(" | ")} |`)
      })
    }
  }
} finally {
  for (const server of servers) server.stop()
  rmSync(folder, { recursive: true, maxRetries: 20 })
}
