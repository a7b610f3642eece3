/**
 * How fast the built service is, beside a peer and a floor: each workload is asked of each in turn,
 * round after round, for on a shared machine only what ran side by side can be compared. Prints a
 * table of medians and writes them to `dist/bench.json`.
 *
 *     npm run bench -- [--rounds 3] [--seconds 4] [--only NAME] [--against OTHER/authority.cjs]
 *
 * Needs wrk and a C compiler.
 */
import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { parseArgs, promisify } from "node:util"
import { execFile } from "node:child_process"
import { accounts, batch, batchPath, credits, creditsPath, urls } from "./load.ts"

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
    only: { type: "string", default: "" },
    against: { type: "string" },
  },
})
const connections = 64
const dist = join(import.meta.dirname, "../../dist")
// Not in the system's folder for temporary files, which may be no disk.
const folder = mkdtempSync(join(dist, "bench-"))
const slowFsync = join(folder, "slow-fsync.so")
const node = process.execPath
const run = promisify(execFile)

interface Server {
  readonly pid: number
  readonly url: string
  readonly keys: ReadonlyArray<string>
  readonly stop: () => void
}

/** A program that prints one line of JSON once it listens. */
const start = async (
  cwd: string,
  args: ReadonlyArray<string>,
  env: NodeJS.ProcessEnv = {},
): Promise<Server> => {
  const child = spawn(node, [...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  })
  const [line] = await once(createInterface(child.stdout), "line", {
    signal: AbortSignal.timeout(60_000),
  })
  const { keys = ["none"], url } = JSON.parse(line)
  return { pid: child.pid ?? 0, url, keys, stop: () => child.kill("SIGTERM") }
}

const script = (name: string) => join(import.meta.dirname, name)

const emptyFolder = (name: string) => {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}

const startService = async (name: string, program: string, moz: string, env: NodeJS.ProcessEnv) => {
  const cwd = emptyFolder(name)
  const authority = (...args: ReadonlyArray<string>) =>
    JSON.parse(execFileSync(node, [program, ...args, "--json"], { cwd, encoding: "utf8" }))
  const keys = Array.from({ length: accounts }, (_, i): string => {
    authority("account", "create", "--credits", String(credits), `account-${i}`)
    return authority("key", "create", "--account", `account-${i}`).key
  })
  const server = await start(cwd, [program, "serve", "--json"], {
    AUTHORITY_PORT: "0",
    AUTHORITY_PROVIDER: "moz",
    AUTHORITY_MOZ_TOKEN: "a-token-for-the-bench",
    AUTHORITY_MOZ_URL: moz,
    AUTHORITY_LOG_LEVEL: "error",
    ...env,
  })
  for (let first = 0; first < urls.length; first += 50) {
    const { data, quota } = await ask({ ...server, keys }, batch(first, 50))
    assert.deepEqual([data.failedUrls, quota.creditsUsed], [[], 50])
  }
  return { ...server, keys }
}

const ask = async ({ keys, url }: Server, body: string) => {
  const response = await fetch(url + batchPath, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": keys[0] ?? "" },
    body,
  })
  return JSON.parse(await response.text())
}

interface Workload {
  readonly name: string
  /** Method, path and body, in turn. */
  readonly requests: ReadonlyArray<readonly [method: string, path: string, body: string]>
}

const batches = (count: number) =>
  Array.from(
    { length: urls.length / count },
    (_, i) => ["POST", batchPath, batch(i * count, count)] as const,
  )

const workloads: ReadonlyArray<Workload> = [
  { name: "1 URL", requests: batches(1) },
  { name: "50 URLs", requests: batches(50) },
  { name: "balance", requests: [["GET", creditsPath, ""]] },
]

interface Measure {
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

const measure = async (
  server: Server,
  requests: Workload["requests"],
  seconds: string,
): Promise<Measure> => {
  const file = join(folder, "requests.txt")
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

const median = (numbers: ReadonlyArray<number>) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

const medians = (rounds: ReadonlyArray<Measure>): Measure => ({
  perSecond: median(rounds.map(({ perSecond }) => perSecond)),
  p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
  cpuUs: median(rounds.map(({ cpuUs }) => cpuUs)),
  rssMb: Math.max(...rounds.map(({ rssMb }) => rssMb)),
})

const servers: Array<Server> = []
try {
  execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", slowFsync, script("slow-fsync.c")])
  const disks = { own: {}, "+1 ms": { LD_PRELOAD: slowFsync } }
  const vendor = await start(folder, [script("vendor.ts")])
  const floor = await start(folder, [script("floor.ts")])
  servers.push(vendor, floor)

  const contenders = async (disk: string, env: NodeJS.ProcessEnv) => {
    const service = (name: string, program: string) =>
      startService(`${name}, ${disk}`, resolve(program), vendor.url, env)
    const started: Array<[string, Server]> = [
      ["service", await service("service", join(dist, "authority.cjs"))],
      ["peer", await start(emptyFolder(`peer, ${disk}`), [script("peer.ts")], env)],
    ]
    if (options.against !== undefined) {
      started.push(["against", await service("against", options.against)])
    }
    servers.push(...started.map(([, server]) => server))
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
      // Not counted: whoever goes first would be measured while its code is being compiled.
      for (const [server] of rounds) await measure(server, requests, "2")
      for (let round = 0; round < Number(options.rounds); round++) {
        for (const [server, result] of rounds) {
          result.rounds.push(await measure(server, requests, options.seconds))
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
  writeFileSync(join(dist, "bench.json"), JSON.stringify(summary, undefined, 2))

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
