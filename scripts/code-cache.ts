/**
 * Writes V8's code cache for the program: the compiled code of the functions that it runs at its
 * start and for its first requests. To find these functions, this script starts the service in its
 * own process, sends requests to it, and stops it. SCRIPT is the bundled program, CACHE the file to
 * write, and ADDON the path of SQLite's addon.
 *
 *     node code-cache.ts SCRIPT CACHE ADDON
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Script } from "node:vm"

const [script = "", cache = "", addon = ""] = process.argv.slice(2)
const compiled = new Script(readFileSync(script, "latin1"), { filename: "authority.cjs" })

// With the default settings, the program uses the sandbox and a new database in this folder.
const folder = mkdtempSync(join(tmpdir(), "authority-start-"))
process.chdir(folder)
process.env = { AUTHORITY_PORT: "0" }
process.argv = [process.execPath, "authority", "serve", "--json"]
process.on("exit", () => {
  rmSync(folder, { recursive: true })
  writeFileSync(cache, compiled.createCachedData())
})

/** The first line that the program prints says that it is listening. */
const line = new Promise<string>((resolve) => {
  Object.assign(process.stdout, {
    write: (text: unknown, ...[done]: ReadonlyArray<unknown>) => {
      resolve(String(text))
      if (typeof done === "function") done()
      return true
    },
  })
})
const ownRequire = createRequire(import.meta.url)
const requireAsset = (name: string) =>
  name === "node:sea" ? { getRawAsset: () => readFileSync(addon) } : ownRequire(name)
compiled.runInThisContext()(requireAsset, { exports: {} })

const { demoKey, url } = JSON.parse(await line)
const headers = { "content-type": "application/json", "x-api-key": demoKey, connection: "close" }
await fetch(`${url}/health/ready`, { headers })
await fetch(`${url}/v1/quota/available-credits`, { headers })
const body = JSON.stringify({ urls: ["example.com", "localhost"] })
await fetch(`${url}/v1/metrics/da-pa/batch`, { method: "POST", headers, body })
process.kill(process.pid, "SIGTERM")
