/**
 * Starts the built program in an empty folder, sends a batch over HTTP, opens the pages and stops
 * the program. The default command is `node dist/authority.cjs`; the arguments of this script
 * replace it. A single argument is the path of the executable `authority`: this script copies it to
 * the empty folder, runs it there without root's rights, and fails unless V8 accepts its code
 * cache.
 */
import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { setTimeout } from "node:timers/promises"
import { chownSync, copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { decodeBatch } from "./support/postBatch.ts"

const words = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), "authority-smoke-"))
const isExecutable = words.length === 1
const [program = "", ...args] = isExecutable
  ? [join(folder, basename(words.join()))]
  : words.length === 0
    ? [process.execPath, join(import.meta.dirname, "../dist/authority.cjs")]
    : words.map((word) => (existsSync(word) ? resolve(word) : word))
const nobody = 65_534
const user = isExecutable && process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : undefined
if (isExecutable) copyFileSync(words.join(), program)
if (user !== undefined) chownSync(folder, user.uid, user.gid)
const child = spawn(program, [...args, "serve", "--json"], {
  cwd: folder,
  ...user,
  env: {
    AUTHORITY_PORT: "0",
    // Node would reject an option that does not exist. The executable `authority` must ignore
    // NODE_OPTIONS.
    ...(program === process.execPath ? {} : { NODE_OPTIONS: "--no-such-option" }),
    NODE_DEBUG: "authority",
  },
  stdio: ["ignore", "pipe", "pipe"],
})
let stderr = ""
child.stderr.on("data", (chunk: Buffer) => {
  stderr += chunk.toString()
  process.stderr.write(chunk)
})
const exited = once(child, "exit")

try {
  const [line] = await once(createInterface(child.stdout), "line", {
    signal: AbortSignal.timeout(60_000),
  })
  const { demoKey, url } = JSON.parse(line)
  const response = await fetch(`${url}/v1/metrics/da-pa/batch`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": demoKey },
    body: JSON.stringify({ urls: ["example.com", "localhost"] }),
    signal: AbortSignal.timeout(10_000),
  })
  assert.equal(response.status, 200)
  const { data, quota } = decodeBatch(await response.text())
  assert.deepEqual(
    data.successUrls.map(({ url }) => url),
    ["example.com"],
  )
  assert.deepEqual(data.failedUrls, [{ url: "localhost", reason: "INVALID_URL" }])
  assert.equal(quota.creditsUsed, 1)
  if (isExecutable) assert.match(stderr, /code cache accepted/)
  for (const page of ["/console", "/docs", "/docs/guide/operating"]) {
    const { headers, status } = await fetch(url + page, { signal: AbortSignal.timeout(10_000) })
    assert.deepEqual([status, headers.get("content-type")], [200, "text/html; charset=utf-8"])
  }
  const metrics = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(10_000) })
  const input = await metrics.text()
  const promtool = spawnSync("promtool", ["check", "metrics"], { input, encoding: "utf8" })
  if (promtool.error === undefined) assert.equal(promtool.status, 0, promtool.stderr)
  else console.error("NOT DONE: promtool is not installed, so it did not check the metrics")
} finally {
  child.kill("SIGTERM")
  const [code] = await Promise.race([exited, setTimeout(20_000, ["still running"], { ref: false })])
  child.kill("SIGKILL")
  rmSync(folder, { recursive: true })
  assert.equal(code, 0, `the program ended with ${code} after SIGTERM`)
}
console.log(
  `smoke test: ${[program, ...args].join(" ")} answers a batch, has its pages and ends in order`,
)
