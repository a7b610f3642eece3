/**
 * Puts mixed load on the real program for some minutes, then sends SIGTERM under load. Memory must
 * not grow, every accepted request must be answered, and the credits that were charged must equal
 * the credits in the answers.
 *
 *     node scripts/soak.ts [SECONDS] [PROGRAM]
 *
 * PROGRAM is a script, for example `dist/authority.cjs`. The default is the sources, which use more
 * memory.
 */
import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import * as Http from "node:http"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout } from "node:timers/promises"

const seconds = Number(process.argv[2] ?? 600)
const connections = 64
/**
 * The first fraction of the run, in which caches fill and V8 compiles code. Memory growth in this
 * time does not count.
 */
const warmUp = 0.3
const allowedGrowth = 1.1

const program = resolve(process.argv[3] ?? join(import.meta.dirname, "..", "src", "main.ts"))
const folder = mkdtempSync(join(tmpdir(), "authority-soak-"))
const env = { PATH: process.env["PATH"], AUTHORITY_PORT: "0", AUTHORITY_LOG_LEVEL: "error" }
const verb = (...args: ReadonlyArray<string>) =>
  JSON.parse(
    execFileSync(process.execPath, [program, ...args, "--json"], { cwd: folder, env }).toString(),
  )

verb("account", "create", "soak", "--credits", "1000000000")
const { key } = verb("key", "create", "--account", "soak")
const child = spawn(process.execPath, [program, "serve", "--json"], {
  cwd: folder,
  env,
  stdio: ["ignore", "pipe", "inherit"],
})
const exited = once(child, "exit")
const [line] = await once(createInterface(child.stdout), "line")
const { url } = JSON.parse(line)

let isStopping = false
const counts = new Map<string, number>()
let creditsUsed = 0
let unanswered = 0

const hosts = (n: number) =>
  Array.from({ length: n }, () => `host-${Math.floor(Math.random() * 20_000)}.example.com`)

/** One function for each kind of request, valid or invalid. It returns a random request. */
const kinds: ReadonlyArray<() => { readonly path: string; readonly body?: string }> = [
  () => ({ path: "/v1/metrics/da-pa/batch", body: JSON.stringify({ urls: hosts(1) }) }),
  () => ({ path: "/v1/metrics/da-pa/batch", body: JSON.stringify({ urls: hosts(50) }) }),
  () => ({ path: "/v1/metrics/da-pa/batch", body: JSON.stringify({ urls: ["localhost", ""] }) }),
  () => ({ path: "/v1/metrics/da-pa/batch", body: "{" }),
  () => ({ path: "/v1/quota/available-credits" }),
  () => ({ path: "/health/ready" }),
  () => ({ path: "/nothing/here" }),
]

const client = async () => {
  const agent = new Http.Agent({ keepAlive: true, maxSockets: 1 })
  while (!isStopping) {
    const { body, path } = kinds[Math.floor(Math.random() * kinds.length)]?.() ?? { path: "/" }
    await new Promise<void>((resolve) => {
      const request = Http.request(`${url}${path}`, {
        agent,
        method: body === undefined ? "GET" : "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
      })
      let isAccepted = false
      request.on("response", (response) => {
        isAccepted = true
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () => {
          const name = `${path} ${response.statusCode}`
          counts.set(name, (counts.get(name) ?? 0) + 1)
          const used = /"creditsUsed":(\d+)/.exec(Buffer.concat(chunks).toString())?.[1]
          creditsUsed += Number(used ?? 0)
          resolve()
        })
        response.on("error", () => resolve())
      })
      request.on("error", (error: NodeJS.ErrnoException) => {
        // The service did not accept the request if the connection was refused, or was an idle
        // connection that had closed.
        const isRefused = error.code === "ECONNREFUSED" || request.reusedSocket
        if (!isAccepted && !isRefused) unanswered += 1
        if (error.code === "ECONNREFUSED") isStopping = true
        resolve()
      })
      request.end(body)
    })
  }
  agent.destroy()
}

const residentMemory = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1024

try {
  const clients = Array.from({ length: connections }, client)
  const samples: Array<number> = []
  const interval = (seconds * 1000) / 50
  for (let i = 0; i < 50; i++) {
    await setTimeout(interval)
    samples.push(residentMemory())
  }
  child.kill("SIGTERM")
  const [code] = await exited
  isStopping = true
  await Promise.all(clients)

  const settled = samples.slice(Math.floor(samples.length * warmUp))
  const median = (list: ReadonlyArray<number>) =>
    list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0
  const first = median(settled.slice(0, Math.floor(settled.length / 4)))
  const last = median(settled.slice(-Math.floor(settled.length / 4)))
  const { charged, held } = verb("credits", "balance", "--account", "soak")
  const { ok } = verb("credits", "verify")

  for (const [name, count] of [...counts].toSorted()) console.log(`${count}\t${name}`)
  console.log(`memory in MB: ${samples.map((sample) => sample.toFixed(0)).join(" ")}`)
  console.log(`memory: ${first.toFixed(0)} MB after the warm-up, ${last.toFixed(0)} MB at the end`)
  console.log(`credits: ${creditsUsed} answered, ${charged} charged, ${held} held`)
  assert.equal(code, 0, `the program ended with ${code}`)
  assert.equal(unanswered, 0, `${unanswered} accepted requests got no answer`)
  assert.equal(charged, creditsUsed, "the credits in the answers differ from the charged credits")
  assert.equal(held, 0)
  assert.equal(ok, true)
  assert.ok(last <= first * allowedGrowth, "the memory grew")
} finally {
  child.kill("SIGKILL")
  rmSync(folder, { recursive: true })
}
