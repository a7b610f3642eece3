/**
 * Measures the time from the start of the executable to its first answer with an account's balance,
 * and the time from the start of a bare `node:http` server to its first answer. The two programs
 * are measured in turn, so that other load slows both of them. Also measures the idle memory of the
 * executable. Fails when the ratio of the two times, or the idle memory, exceeds its limit.
 */
import assert from "node:assert/strict"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { get, type IncomingMessage } from "node:http"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { freePort } from "./free-port.ts"
import { programOn } from "./program.ts"
import { median } from "./support/quantile.ts"

const turns = 11
const maxRatio = 6
const maxIdleMiB = 120

const executable = join(import.meta.dirname, "../dist/authority")
const folder = mkdtempSync(join(tmpdir(), "authority-measure-"))
const bare = join(folder, "bare.cjs")
writeFileSync(
  bare,
  `require("node:http").createServer((_, response) => response.end("{}")).listen(+process.argv[2], "127.0.0.1")`,
)

const startBare = (port: number) =>
  spawn(process.execPath, [bare, String(port)], { cwd: folder, env: {}, stdio: "ignore" })

const startOurs = (port: number) =>
  spawn(executable, ["serve"], {
    cwd: folder,
    env: { AUTHORITY_PORT: String(port) },
    stdio: "ignore",
  })

/** The resident memory two seconds after the first answer, in MiB. */
const idleMemory = async (child: ChildProcess) => {
  await setTimeout(2_000)
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? []
  return Number(kib) / 1024
}

const answer = (port: number, path: string, apiKey: string) =>
  new Promise<IncomingMessage | undefined>((resolve) => {
    const headers = { "x-api-key": apiKey }
    get({ port, path, host: "127.0.0.1", agent: false, headers }, (response) => {
      response.resume().on("end", () => resolve(response))
    }).on("error", () => resolve(undefined))
  })

/**
 * Starts a process and measures the milliseconds until its first answer. The process keeps running.
 * Fails when it ends early, or after 60 s.
 */
const firstAnswer = async (start: (port: number) => ChildProcess, path: string, apiKey: string) => {
  const port = await freePort()
  const begin = performance.now()
  const child = start(port)
  try {
    // Retry until the server listens. An attempt costs almost nothing.
    let response = await answer(port, path, apiKey)
    while (response === undefined) {
      assert(child.exitCode === null, "the server ended before it answered")
      assert(performance.now() - begin < 60_000, "the server does not answer")
      await setTimeout(1)
      response = await answer(port, path, apiKey)
    }
    return { child, status: response.statusCode, elapsedMs: performance.now() - begin }
  } catch (error) {
    child.kill("SIGKILL")
    throw error
  }
}

/** Kills a process and waits for its end. */
const kill = async (child: ChildProcess) => {
  child.kill("SIGKILL")
  await once(child, "close")
}

const rounded = (ms: number) => `${ms.toFixed(0)} ms`

try {
  const program = programOn({ cwd: folder, command: [executable], settings: {} })
  const apiKey = await program.newKey("measure")
  const bareTimes: Array<number> = []
  const ourTimes: Array<number> = []
  let idleMiB = 0
  for (let turn = 0; turn < turns; turn++) {
    const theirs = await firstAnswer(startBare, "/", apiKey)
    await kill(theirs.child)
    const ours = await firstAnswer(startOurs, "/v1/quota/available-credits", apiKey)
    assert.equal(ours.status, 200)
    if (turn === turns - 1) idleMiB = await idleMemory(ours.child)
    await kill(ours.child)
    bareTimes.push(theirs.elapsedMs)
    ourTimes.push(ours.elapsedMs)
  }
  const ratio = median(ourTimes) / median(bareTimes)
  console.log(
    `first answer: ${rounded(median(ourTimes))}, a bare server ${rounded(median(bareTimes))}: ratio ${ratio.toFixed(2)}, at most ${maxRatio}`,
  )
  console.log(`idle memory: ${idleMiB.toFixed(0)} MiB, at most ${maxIdleMiB}`)
  assert(ratio <= maxRatio, "the first answer comes too late")
  assert(idleMiB <= maxIdleMiB, "too much memory when idle")
} finally {
  rmSync(folder, { recursive: true, force: true })
}
