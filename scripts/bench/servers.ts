/** The servers that are measured. */
import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { v8Flags } from "../v8-flags.ts"
import { accounts, batch, batchPath, credits, urls } from "./load.ts"

export interface Server {
  readonly pid: number
  readonly url: string
  readonly keys: ReadonlyArray<string>
  readonly stop: () => void
}

/** A program that prints one line of JSON once it listens. */
export const start = async (
  cwd: string,
  args: ReadonlyArray<string>,
  env: NodeJS.ProcessEnv = {},
): Promise<Server> => {
  const child = spawn(process.execPath, [...args], {
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

/** A file of this folder. */
export const script = (name: string) => join(import.meta.dirname, name)

/** A new folder. */
export const emptyFolder = (...path: ReadonlyArray<string>) => {
  const folder = join(...path)
  mkdirSync(folder)
  return folder
}

/** The accounts of the load, in the database of a folder; gives their keys. */
export const openAccounts = (cwd: string, program: string) => {
  const authority = (...args: ReadonlyArray<string>) =>
    JSON.parse(
      execFileSync(process.execPath, [program, ...args, "--json"], { cwd, encoding: "utf8" }),
    )
  return Array.from({ length: accounts }, (_, i): string => {
    authority("account", "create", "--credits", String(credits), `account-${i}`)
    return authority("key", "create", "--account", `account-${i}`).key
  })
}

/** The service on the database of a folder, with a vendor whose figures it knows by then. */
export const startService = async (
  cwd: string,
  program: string,
  keys: ReadonlyArray<string>,
  moz: string,
  env: NodeJS.ProcessEnv,
): Promise<Server> => {
  const server = await start(cwd, [...v8Flags, program, "serve", "--json"], {
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
