/** Measures one server under load. */
import assert from "node:assert/strict"
import { execFile, execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { promisify } from "node:util"
import { batchPath, type Request } from "./requests.ts"
import { file as fileHere, type Server } from "./servers.ts"
import { median } from "../support/quantile.ts"

const run = promisify(execFile)

interface Load {
  /** The path of the file with the requests, written by `writeRequests`. */
  readonly file: string
  readonly seconds: number
  readonly connections?: number
}

export interface Measure {
  readonly requests: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** The CPU time per request in microseconds, of the server's process and its child processes. */
  readonly cpuUs: number
  /** The resident memory of the same processes at the end of the load, in MB. */
  readonly rssMb: number
}

export const defaultConnections = 64

export const writeRequests = (file: string, requests: ReadonlyArray<Request>) =>
  writeFileSync(
    file,
    requests
      .map(({ body, isNamed }) => [isNamed ? "named" : "unnamed", body].join("\t"))
      .join("\n") + "\n",
  )

/**
 * Puts the server under load for some seconds. Fails with the message of any answer that is not a
 * 200.
 */
export const load = async (server: Server, options: Load): Promise<Measure> => {
  const cpuBefore = cpuSeconds(server.pid)
  const { lost, refused, seconds, ...figures } = await wrk(server, options)
  const cpu = cpuSeconds(server.pid) - cpuBefore
  if (refused + lost > 0) {
    const { message } = await wrk(server, { ...options, seconds: 2 }, { SHOW_FAILURE: "1" })
    assert.fail(
      `${server.name}: of ${figures.requests} requests ${refused} were refused and ${lost} lost: ` +
        (message ?? "no answer but 200 when asked once more"),
    )
  }
  return {
    ...figures,
    perSecond: figures.requests / seconds,
    cpuUs: (cpu / figures.requests) * 1e6,
    rssMb: rssMb(server.pid),
  }
}

interface Summary {
  readonly requests: number
  readonly refused: number
  readonly lost: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const wrk = async (
  { keys, url }: Server,
  { connections = defaultConnections, file, seconds }: Load,
  env: NodeJS.ProcessEnv = {},
) => {
  const args = ["-t1", `-c${connections}`, `-d${seconds}`, `-s${fileHere("load.lua")}`]
  const { stdout } = await run(
    "wrk",
    [...args, "--timeout=30s", url, "--", file, batchPath, randomUUID(), ...keys],
    { env: { ...process.env, ...env }, timeout: (seconds + 60) * 1000 },
  )
  const summary: Summary = JSON.parse(stdout.trim().split("\n").at(-1) ?? "")
  return { ...summary, message: /^[1-5]\d\d .*$/m.exec(stdout)?.[0] }
}

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }))

/** The fields of /proc/PID/stat, from the process state on. Empty when the process has ended. */
const statOf = (pid: number): ReadonlyArray<string> => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    return text.slice(text.lastIndexOf(")") + 2).split(" ")
  } catch {
    return []
  }
}

/** The ids of a process and of all its descendants. */
const tree = (root: number): ReadonlyArray<number> => {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name))
  const parents = new Map(pids.map((pid) => [Number(pid), Number(statOf(Number(pid))[1])]))
  const members = [root]
  for (const member of members) {
    for (const [pid, parent] of parents) if (parent === member) members.push(pid)
  }
  return members
}

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((a, b) => a + b, 0)

/**
 * The CPU time in seconds of a process and its descendants, including descendants that have ended.
 */
export const cpuSeconds = (root: number) =>
  sum(
    tree(root).map((pid) => {
      const [user = "0", system = "0", endedUser = "0", endedSystem = "0"] = statOf(pid).slice(11)
      return (
        (Number(user) + Number(system) + Number(endedUser) + Number(endedSystem)) / ticksPerSecond
      )
    }),
  )

export const rssMb = (root: number) =>
  sum(
    tree(root).map((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, "utf8")
        return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
      } catch {
        return 0
      }
    }),
  )

export const medians = (rounds: ReadonlyArray<Omit<Measure, "requests">>) => ({
  perSecond: median(rounds.map(({ perSecond }) => perSecond)),
  p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
  cpuUs: median(rounds.map(({ cpuUs }) => cpuUs)),
  rssMb: median(rounds.map(({ rssMb }) => rssMb)),
})
