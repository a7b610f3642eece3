/** Starts, stops and queries the processes of a benchmark run. */
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { accounts, batches, batchPath, credits, creditsPath, knownUrls } from "./requests.ts"
import { heapFlags } from "../heap-flags.ts"
import { programOn } from "../program.ts"

export interface Server {
  readonly name: string
  readonly pid: number
  readonly url: string
  /** API keys, one for each account. */
  readonly keys: ReadonlyArray<string>
  /**
   * Sends SIGTERM, and SIGKILL if the process has not ended after 15 s. Waits until the process has
   * ended.
   */
  readonly stop: () => Promise<void>
}

export const file = (name: string) => join(import.meta.dirname, name)

export const script = (name: string, ...args: ReadonlyArray<string>) => [
  process.execPath,
  file(name),
  ...args,
]

export const dist = join(import.meta.dirname, "../../dist")

export const built = join(dist, "authority.cjs")

/** Makes a folder in `dist`, which is on disk; the system's temporary folder may be in memory. */
export const newFolder = () => {
  assert(existsSync(built), "there is no build: npm run build")
  const folder = mkdtempSync(join(dist, "bench-"))
  // When this program runs as root, PostgreSQL runs as another user, who needs access to the
  // folder.
  chmodSync(folder, 0o755)
  // Delete the folder even if the run fails or is interrupted.
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }))
  return folder
}

export const subfolder = (...path: ReadonlyArray<string>) => {
  const folder = join(...path)
  mkdirSync(folder)
  return folder
}

/** The environment of this process, without variables that could change the results. */
const ownEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(AUTHORITY_|OTEL_|NODE_OPTIONS$|LD_PRELOAD$)/.test(name),
  ),
)

const running = new Set<Server["stop"]>()

export const stopAll = async () => {
  await Promise.all([...running].map((stop) => stop()))
}

const stopOn = (signal: NodeJS.Signals, exitCode: number) =>
  process.once(signal, () => void stopAll().finally(() => process.exit(exitCode)))
stopOn("SIGINT", 130)
stopOn("SIGTERM", 143)

const programOf = (main: string) => [process.execPath, ...heapFlags, main]

/**
 * Starts a program and waits for the line of JSON that it prints once it listens. Fails after 60 s.
 */
export const start = async (
  name: string,
  cwd: string,
  [program = "", ...args]: ReadonlyArray<string>,
  env: NodeJS.ProcessEnv = {},
): Promise<Server> => {
  const child = spawn(program, args, {
    cwd,
    env: { ...ownEnvironment, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  })
  const ended = once(child, "exit")
  const stop = async () => {
    child.kill("SIGTERM")
    const timer = setTimeout(() => child.kill("SIGKILL"), 15_000)
    await ended
    clearTimeout(timer)
    running.delete(stop)
  }
  running.add(stop)
  const [line] = await Promise.race([
    once(createInterface(child.stdout), "line", { signal: AbortSignal.timeout(60_000) }),
    ended.then(([code]) => assert.fail(`${name} ended with ${code} before it listened`)),
  ])
  const { keys = [], url } = JSON.parse(line)
  return { name, pid: child.pid ?? 0, url, keys, stop }
}

interface ServiceOptions {
  readonly name: string
  /** The working directory, which contains the SQLite database. */
  readonly cwd: string
  readonly program: string
  readonly settings: Readonly<Record<string, string>>
}

export const startService = async ({ cwd, name, program, settings }: ServiceOptions) => {
  const { LD_PRELOAD: _, ...withoutPreload } = settings
  const command = programOf(program)
  const { newKey } = programOn({ cwd, command, settings: withoutPreload })
  const keys: Array<string> = []
  for (let i = 0; i < accounts; i++) keys.push(await newKey(`account-${i}`, credits))
  const env = { AUTHORITY_PORT: "0", AUTHORITY_LOG_LEVEL: "error", ...settings }
  return { ...(await start(name, cwd, [...command, "serve", "--json"], env)), keys }
}

/** The settings for a service that buys its figures from the benchmark's fake vendor. */
export const mozSettings = (vendor: Server) => ({
  AUTHORITY_PROVIDER: "moz",
  AUTHORITY_MOZ_TOKEN: "a-token-for-the-bench",
  AUTHORITY_MOZ_URL: vendor.url,
})

/** Checks all known URLs, so that the server has their figures in its cache. */
export const learn = async (server: Server) => {
  for (let first = 0; first < knownUrls.length; first += 50) {
    const answer = await ask(server, JSON.stringify({ urls: knownUrls.slice(first, first + 50) }))
    assertAllChecked(server, answer, 50)
  }
}

const ask = async ({ keys, url }: Server, body: string, name?: string) => {
  const response = await fetch(url + batchPath, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-api-key": keys[0] ?? "",
      ...(name !== undefined && { "idempotency-key": `"${name}"` }),
    },
    body,
  })
  return {
    status: response.status,
    isReplay: response.headers.get("idempotent-replayed") === "true",
    text: await response.text(),
  }
}

const assertAllChecked = (
  { name }: Server,
  { status, text }: Awaited<ReturnType<typeof ask>>,
  urls: number,
) => {
  assert.equal(status, 200, `${name} answered ${status}: ${text}`)
  const { data, quota } = JSON.parse(text)
  assert.equal(data.successUrls.length, urls, `${name} answered ${text}`)
  assert.equal(quota.creditsUsed, urls, `${name} answered ${text}`)
}

/**
 * Fails unless the server checks URLs, replays the stored answer when the request is repeated, and
 * answers 422 to a request that has the same idempotency key but other URLs.
 */
export const assertHonest = async (server: Server, urls: ReadonlyArray<string>) => {
  const [first = { body: "" }, second = { body: "" }] = batches(urls, { count: 50, isNamed: true })
  const name = `honest-${crypto.randomUUID()}`
  const answer = await ask(server, first.body, name)
  assertAllChecked(server, answer, 50)
  const again = await ask(server, first.body, name)
  assert.deepEqual(again, { ...answer, isReplay: true }, `${server.name} does not replay`)
  const other = await ask(server, second.body, name)
  assert.equal(other.status, 422, `${server.name} answered ${other.status}: ${other.text}`)
}

/** Waits until the credits of all accounts no longer change, and returns their sum. */
export const available = async (server: Server): Promise<number> => {
  const read = async () => {
    let sum = 0
    for (const key of server.keys) {
      const response = await fetch(server.url + creditsPath, { headers: { "x-api-key": key } })
      const text = await response.text()
      assert.equal(response.status, 200, `${server.name} answered ${response.status}: ${text}`)
      sum += JSON.parse(text).data.availableCredits
    }
    return sum
  }
  // Wait, because the server may still settle requests whose clients have hung up.
  let last = await read()
  for (let attempt = 0; attempt < 100; attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    const now = await read()
    if (now === last) return now
    last = now
  }
  return assert.fail(`the credits of ${server.name} keep changing`)
}

/** Returns one of the fake vendor's counters. */
export const counted = async (
  { url }: Server,
  what: "asked" | "calls" | "hosts",
): Promise<number> => JSON.parse(await (await fetch(url)).text())[what]
