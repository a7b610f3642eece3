/**
 * How fast the built service is, beside a peer and a floor: each workload is asked of each in turn,
 * round after round, for on a shared machine only what ran side by side can be compared. Prints a
 * table of medians and writes them to `dist/bench.json`.
 *
 *     npm run bench -- [--rounds 3] [--seconds 4] [--only NAME] [--against OTHER/authority.cjs]
 *
 * Needs wrk and a C compiler.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { type Measure, measure, median, medians, workloads } from "./measure.ts"
import { emptyFolder, openAccounts, script, type Server, start, startService } from "./servers.ts"

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
    only: { type: "string", default: "" },
    against: { type: "string" },
  },
})
const dist = join(import.meta.dirname, "../../dist")
// Not in the system's folder for temporary files, which may be no disk.
const folder = mkdtempSync(join(dist, "bench-"))
const slowFsync = join(folder, "slow-fsync.so")
const requestsFile = join(folder, "requests.txt")

const warmUpSeconds = "8"
const servers: Array<Server> = []
try {
  execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", slowFsync, script("slow-fsync.c")])
  const disks = { own: {}, "+1 ms": { LD_PRELOAD: slowFsync } }
  const vendor = await start(folder, [script("vendor.ts")])
  const floor = await start(folder, [script("floor.ts")])
  servers.push(vendor, floor)

  const contenders = async (disk: string, env: NodeJS.ProcessEnv) => {
    const service = (name: string, program: string) => {
      const cwd = emptyFolder(folder, `${name}, ${disk}`)
      const keys = openAccounts(cwd, resolve(program))
      return startService(cwd, resolve(program), keys, vendor.url, env)
    }
    const started: Array<[string, Server]> = []
    const add = (name: string, server: Server) => {
      // At once, for what is started after it may fail.
      servers.push(server)
      started.push([name, server])
    }
    add("service", await service("service", join(dist, "authority.cjs")))
    add("peer", await start(emptyFolder(folder, `peer, ${disk}`), [script("peer.ts")], env))
    if (options.against !== undefined) add("against", await service("against", options.against))
    started.push(["floor", floor])
    return started
  }
  const results: Array<{ workload: string; disk: string; who: string; rounds: Array<Measure> }> = []
  for (const [disk, env] of Object.entries(disks)) {
    const asked = workloads.filter(({ name }) => `${name}, ${disk}`.includes(options.only))
    if (asked.length === 0) continue
    const started = await contenders(disk, env)
    for (const { name, requests } of asked) {
      const rounds = started.map(
        ([who, server]) =>
          [server, { workload: name, disk, who, rounds: Array<Measure>() }] as const,
      )
      // Not counted, for the code is still being compiled.
      for (const [server] of rounds)
        await measure(server, requests, { file: requestsFile, seconds: warmUpSeconds })
      for (let round = 0; round < Number(options.rounds); round++) {
        for (const [server, result] of rounds) {
          result.rounds.push(
            await measure(server, requests, { file: requestsFile, seconds: options.seconds }),
          )
        }
      }
      results.push(...rounds.map(([, result]) => result))
    }
  }

  const summary = results.map(({ disk, rounds, who, workload }) => {
    const figures = medians(rounds)
    const service = results.find(
      (other) => other.workload === workload && other.disk === disk && other.who === "service",
    )
    const ratio = median(
      rounds.map(({ perSecond }, i) => (service?.rounds[i]?.perSecond ?? 0) / perSecond),
    )
    return { workload, fsync: disk, who, ...figures, serviceRatio: ratio, rounds }
  })
  const commit = execFileSync("git", ["rev-parse", "--short=10", "HEAD"], { encoding: "utf8" })
  const about = {
    date: new Date().toISOString().slice(0, 10),
    commit: commit.trim(),
    machine: `${cpus().length} cores, ${cpus()[0]?.model ?? "unknown"}, Node ${process.version}`,
  }
  writeFileSync(join(dist, "bench.json"), JSON.stringify({ about, summary }, undefined, 2))

  console.log(`${about.date}, commit ${about.commit}, ${about.machine}\n`)
  console.log(
    "| workload | fsync | who | requests/s | p50 ms | p99 ms | CPU µs | RSS MB | service is |",
  )
  console.log("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
  for (const {
    cpuUs,
    fsync,
    p50Ms,
    p99Ms,
    perSecond,
    rssMb,
    serviceRatio,
    who,
    workload,
  } of summary) {
    const cells = [workload, fsync, who, perSecond.toFixed(0), p50Ms.toFixed(2), p99Ms.toFixed(2)]
    cells.push(cpuUs.toFixed(0), rssMb.toFixed(0), `${serviceRatio.toFixed(2)}×`)
    console.log(`| ${cells.join(" | ")} |`)
  }
} finally {
  for (const server of servers) server.stop()
  rmSync(folder, { recursive: true, maxRetries: 20 })
}
