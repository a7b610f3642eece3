/**
 * Measures the time from the start of the executable to its first answer with an account's balance,
 * and the time from the start of a bare `node:http` server to its first answer. The two programs
 * are measured in turn, so that other load slows both of them. Also measures the idle memory of the
 * executable and the duration of `--help`. Fails when the ratio of the two times exceeds
 * `--first-answer` (default: 6), or the idle memory exceeds `--idle-mib` (default: 120 MiB).
 */
import assert from "node:assert/strict"
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { parseArgs } from "node:util"
import { firstAnswer, kill } from "./support/first-answer.ts"
import { median } from "./support/quantile.ts"

const turns = 11
const { values } = parseArgs({
  options: {
    "first-answer": { type: "string", default: "6" },
    "idle-mib": { type: "string", default: "120" },
  },
})
const limits = { firstAnswer: Number(values["first-answer"]), idleMiB: Number(values["idle-mib"]) }

const executable = join(import.meta.dirname, "../dist/authority")
const folder = mkdtempSync(join(tmpdir(), "authority-measure-"))
const bare = join(folder, "bare.cjs")
writeFileSync(
  bare,
  `require("node:http").createServer((_, response) => response.end("{}")).listen(+process.argv[2], "127.0.0.1")`,
)

/** Creates an account and an API key in the folder's database. */
const newKey = () => {
  const verb = (...args: ReadonlyArray<string>) =>
    execFileSync(executable, [...args, "--json"], { cwd: folder, env: {}, encoding: "utf8" })
  verb("account", "create", "measure", "--credits", "1")
  return String(JSON.parse(verb("key", "create", "--account", "measure")).key)
}

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

const elapsedMs = (command: string, args: ReadonlyArray<string>) => {
  const begin = performance.now()
  const { status } = spawnSync(command, args, { cwd: folder, env: {} })
  assert.equal(status, 0)
  return performance.now() - begin
}

const rounded = (ms: number) => `${ms.toFixed(0)} ms`

try {
  writeFileSync(join(folder, "nothing.cjs"), "")
  const apiKey = newKey()
  const bareTimes: Array<number> = []
  const ourTimes: Array<number> = []
  const nothingTimes: Array<number> = []
  const helpTimes: Array<number> = []
  let idleMiB = 0
  for (let turn = 0; turn < turns; turn++) {
    const theirs = await firstAnswer(startBare, { path: "/", apiKey })
    await kill(theirs.child)
    const ours = await firstAnswer(startOurs, { path: "/v1/quota/available-credits", apiKey })
    assert.equal(ours.status, 200)
    if (turn === turns - 1) idleMiB = await idleMemory(ours.child)
    await kill(ours.child)
    bareTimes.push(theirs.elapsedMs)
    ourTimes.push(ours.elapsedMs)
    nothingTimes.push(elapsedMs(process.execPath, [join(folder, "nothing.cjs")]))
    helpTimes.push(elapsedMs(executable, ["--help"]))
  }
  const ratio = median(ourTimes) / median(bareTimes)
  console.log(
    `first answer: ${rounded(median(ourTimes))}, a bare server ${rounded(median(bareTimes))}: ratio ${ratio.toFixed(2)}, at most ${limits.firstAnswer}`,
  )
  console.log(`idle memory: ${idleMiB.toFixed(0)} MiB, at most ${limits.idleMiB}`)
  console.log(
    `--help: ${rounded(median(helpTimes))}, of which ${rounded(median(nothingTimes))} are Node's own`,
  )
  assert(ratio <= limits.firstAnswer, "the first answer comes too late")
  assert(idleMiB <= limits.idleMiB, "too much memory when idle")
} finally {
  rmSync(folder, { recursive: true, force: true })
}
