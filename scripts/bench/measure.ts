/** One server under load. */
import assert from "node:assert/strict"
import { execFile, execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { promisify } from "node:util"
import { batch, batchPath, creditsPath, urls } from "./load.ts"
import { script, type Server } from "./servers.ts"

const run = promisify(execFile)

export interface Workload {
  readonly name: string
  /** Method, path and body, in turn. */
  readonly requests: ReadonlyArray<readonly [method: string, path: string, body: string]>
}

const batches = (count: number) =>
  Array.from(
    { length: urls.length / count },
    (_, i) => ["POST", batchPath, batch(i * count, count)] as const,
  )

export const workloads: ReadonlyArray<Workload> = [
  { name: "1 URL", requests: batches(1) },
  { name: "50 URLs", requests: batches(50) },
  { name: "balance", requests: [["GET", creditsPath, ""]] },
]

/** How a server is asked. */
export interface Load {
  readonly connections?: number
  /** Where the requests are written for the client. */
  readonly file: string
  readonly seconds: string
}

export interface Measure {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Microseconds of processor time for one request, on all threads of the server. */
  readonly cpuUs: number
  readonly rssMb: number
}

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }))

const cpuSeconds = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

const rssMb = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

export const measure = async (
  server: Server,
  requests: Workload["requests"],
  { connections = 64, file, seconds }: Load,
): Promise<Measure> => {
  const lines = requests.flatMap(([method, path, body]) =>
    server.keys.map((key) => [method, path, key, body].join("\t")),
  )
  writeFileSync(file, lines.join("\n") + "\n")
  const cpuBefore = cpuSeconds(server.pid)
  const { stdout } = await run("wrk", [
    `-t1`,
    `-c${connections}`,
    `-d${seconds}`,
    `-s${script("load.lua")}`,
    "--timeout=30s",
    server.url,
    "--",
    file,
  ])
  const cpu = cpuSeconds(server.pid) - cpuBefore
  const told = JSON.parse(stdout.trim().split("\n").at(-1) ?? "")
  assert.equal(told.failed, 0, stdout)
  return {
    perSecond: told.requests / told.seconds,
    p50Ms: told.p50Ms,
    p99Ms: told.p99Ms,
    cpuUs: (cpu / told.requests) * 1e6,
    rssMb: rssMb(server.pid),
  }
}

export const median = (numbers: ReadonlyArray<number>) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

export const medians = (rounds: ReadonlyArray<Measure>): Measure => ({
  perSecond: median(rounds.map(({ perSecond }) => perSecond)),
  p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
  cpuUs: median(rounds.map(({ cpuUs }) => cpuUs)),
  rssMb: Math.max(...rounds.map(({ rssMb }) => rssMb)),
})
