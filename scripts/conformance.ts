/**
 * Runs the conformance suite of the Model Context Protocol against the service, for each revision
 * of the protocol that the service supports. The suite sends no API key, so a proxy in front of the
 * service adds one. The files in `conformance/` list the checks that the service does not pass, and
 * why; any other failure fails the script. The argument is the executable (default: the sources).
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, request } from "node:http"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { freePort } from "./free-port.ts"
import { programOn } from "./program.ts"

const suite = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
const revisions = ["2025-11-25", "2026-07-28"]

const [executable] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), "authority-conformance-"))
const command = executable === undefined ? {} : { command: [resolve(executable)] }
const program = programOn({ cwd: folder, settings: {}, ...command })
const apiKey = await program.newKey("agents")
const service = await program.serve()
const proxy = createServer((incoming, outgoing) => {
  const { method, url: path = "/" } = incoming
  const headers = { ...incoming.headers, "x-api-key": apiKey }
  const { hostname: host, port } = new URL(service.url)
  const forwarded = request({ host, port, path, method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(outgoing)
  })
  incoming.pipe(forwarded.on("error", () => outgoing.destroy()))
})

try {
  const port = await freePort()
  proxy.listen(port, "127.0.0.1")
  await once(proxy, "listening")
  for (const revision of revisions) {
    const baseline = join(import.meta.dirname, "conformance", `${revision}.yml`)
    const url = `http://127.0.0.1:${port}/mcp`
    const which = ["--requirements", revision, "--expected-failures", baseline]
    const run = spawn("npx", ["--yes", suite, "server", "--url", url, ...which], {
      cwd: folder,
      stdio: "inherit",
    })
    const [code] = await once(run, "exit")
    if (code !== 0) process.exitCode = 1
  }
} finally {
  proxy.close()
  await service.kill()
  rmSync(folder, { recursive: true, force: true })
}
