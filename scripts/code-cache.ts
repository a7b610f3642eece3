/**
 * Writes V8's code cache for the program: the compiled code of the functions that it runs at its
 * start and for its first requests. To find these functions, this script runs the program in its
 * own process: it makes the program print the help and start the service, sends requests to the
 * service, and stops the service. SCRIPT is the bundled program, CACHE the file to write, and ADDON
 * the path of SQLite's addon. FLAGS are the flags that this module exports as `flags`.
 *
 *     node FLAGS code-cache.ts SCRIPT CACHE ADDON
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { Script } from "node:vm"
import { freePort } from "./free-port.ts"

/**
 * Node flags that make the cache reproducible: the same random numbers in each run, and enough
 * memory to run without garbage collections, which would change the cache.
 */
export const flags = ["--random-seed=1", "--min-semi-space-size=256", "--max-semi-space-size=256"]

/**
 * The V8 flags that this script turns off while it runs the program, so that V8 neither discards
 * nor optimises code. The script turns them on again before it makes the cache: V8 rejects a cache
 * that was made with other flags than those of the process that loads the cache.
 */
const changing = ["flush-bytecode", "opt", "maglev", "sparkplug"]

const keepCompiled = async (script: string, cache: string, addon: string) => {
  for (const flag of changing) setFlagsFromString(`--no-${flag}`)
  const compiled = new Script(readFileSync(script, "latin1"), { filename: "authority.cjs" })
  const program = compiled.runInThisContext()
  const ownRequire = createRequire(import.meta.url)
  const start = (...args: ReadonlyArray<string>) => {
    process.argv = [process.execPath, "authority", ...args]
    program(
      (name: string) =>
        name === "node:sea" ? { getRawAsset: () => readFileSync(addon) } : ownRequire(name),
      { exports: {} },
    )
  }
  const folder = mkdtempSync(join(tmpdir(), "authority-start-"))
  process.chdir(folder)
  // Ignore the settings in the shell's environment variables. With the default settings, the
  // program uses the sandbox and a new database in `folder`.
  for (const name of Object.keys(process.env)) {
    if (/^(AUTHORITY|OTEL)_/.test(name)) delete process.env[name]
  }
  const port = await freePort()
  process.env["AUTHORITY_PORT"] = String(port)
  process.env["AUTHORITY_LOG_FORMAT"] = "json"
  withoutTimers()
  const output = listen()
  start("--help")
  await output("Usage:")
  start("serve", "--json")
  const url = `http://127.0.0.1:${port}`
  await answered(`${url}/health/ready`)
  // Send requests to both endpoints under `/v1`, so that the code cache also contains the functions
  // that answer these requests.
  await fetch(`${url}/v1/quota/available-credits`)
  const { demoKey } = JSON.parse(await output("demoKey"))
  await fetch(`${url}/v1/metrics/da-pa/batch`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": demoKey, connection: "close" },
    body: JSON.stringify({ urls: ["example.com", "localhost"] }),
  })
  process.on("exit", () => {
    rmSync(folder, { recursive: true })
    for (const flag of changing) setFlagsFromString(`--${flag}`)
    writeFileSync(cache, compiled.createCachedData())
  })
  process.kill(process.pid, "SIGTERM")
}

/** Repeats a request until the program listens. */
const answered = async (url: string): Promise<unknown> =>
  fetch(url).catch(async () => {
    await setImmediate()
    return answered(url)
  })

/**
 * Keeps timers with a delay from firing. Otherwise chance would decide which timers fire before the
 * cache is written, and two builds would write different caches.
 */
const withoutTimers = () => {
  const { setTimeout } = globalThis
  const never = () => {}
  globalThis.setTimeout = Object.assign(
    (run: () => void, ms = 0) => setTimeout(ms > 0 ? never : run, 0),
    setTimeout,
  )
}

/**
 * Captures what the program writes to stdout, and discards its errors. Returns a function that
 * waits until the program has written a text with the given word, and returns this text.
 */
const listen = () => {
  const texts: Array<string> = []
  let look = () => {}
  const write = (text: unknown, ...[callback]: ReadonlyArray<unknown>) => {
    texts.push(String(text))
    look()
    if (typeof callback === "function") callback()
    return true
  }
  Object.assign(process.stdout, { write })
  console.error = () => {}
  return (word: string) =>
    new Promise<string>((resolve) => {
      look = () => {
        const text = texts.find((_) => _.includes(word))
        if (text !== undefined) resolve(text)
      }
      look()
    })
}

if (import.meta.main) {
  const [script = "", cache = "", addon = ""] = process.argv.slice(2)
  await keepCompiled(script, cache, addon)
}
